// Where gateways run, a command asks them; what lies in the folder it is called in may be followed by none of them yet, and then
// the answer is not about the file that its user has in mind. Said, never guessed.
import { realpathSync } from 'node:fs';
import { AdminClient } from '../../gateway/admin/admin-client.ts';
import type { HealthReport } from '../../gateway/admin/admin-ports.ts';
import { gatewayHomes } from '../../kit/files/gateway-homes.ts';
import { placesIn } from '../../kit/files/home.ts';
import type { CliContext } from '../cli-context.ts';
import { joined, printable } from '../terminal/printable.ts';

export interface ConfigHere {
  /** The configuration that the next `run` here would follow. */
  readonly file: string;
  /** What the gateways that run follow. */
  readonly followed: readonly string[];
}

type Here = Pick<CliContext, 'cwd' | 'env' | 'places'>;

/** Null: none lies here, no gateway runs, or one of them follows it. */
export async function configNobodyFollows({ cwd, env, places }: Here): Promise<ConfigHere | null> {
  const [{ findConfigFile }, { thisMachine }] = await Promise.all([
    import('../../policy/load/find-config.ts'),
    import('../../policy/load/machine-files.ts'),
  ]);
  const file = findConfigFile({ env, cwd, home: thisMachine(env).home });
  if (file === null) return null;
  const followed = (await livingGateways(places.home)).map(({ report }) => report.config);
  if (followed.length === 0 || followed.some((other) => real(other) === real(file))) return null;
  return { file, followed: [...new Set(followed)] };
}

/** One sentence for a person. */
export function aboutOthers({ file, followed }: ConfigHere): string {
  const many = followed.length > 1;
  return `this is what the ${many ? 'gateways that run say, which follow' : 'gateway that runs says, which follows'} ${joined(followed)}; none follows ${printable(file)}, as a \`run\` here would`;
}

interface LivingGateway {
  readonly client: AdminClient;
  readonly report: HealthReport;
}

/** The first one's first. */
export async function livingGateways(home: string): Promise<LivingGateway[]> {
  const asked = await Promise.allSettled(
    gatewayHomes(home).map(async (each) => {
      const client = new AdminClient(placesIn(each).adminSocket);
      return { client, report: await client.call<HealthReport>('GET', '/internal/health') };
    }),
  );
  return asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
