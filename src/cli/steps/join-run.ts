// `sallyport run` finds its gateway, and asks it what the person is told before the command starts. Which configuration it would
// follow is decided here, as it is for a gateway that is started by hand.
import type { CredentialStatus } from '../../gateway/admin/admin-ports.ts';
import type { RunGateway } from '../../gateway/run-gateway.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';
import { approvingPerson } from './approve-edit.ts';

interface JoinRunOptions {
  readonly config?: string;
  readonly gateway?: boolean;
  readonly dashboard?: boolean;
  readonly quiet?: boolean;
}

export interface JoinedFacts {
  readonly credentials: readonly CredentialStatus[];
  /** The configuration in force. */
  readonly config: string;
  /** Where it is not the gateway that this run has started; and what was in the way of others. */
  readonly notices: readonly string[];
  /** Opens the dashboard, once; null: nobody has asked, and none is served. */
  readonly dashboard: string | null;
}

/** The configuration to follow, when it is the user's; null: none, or that of a gateway whatever it is. */
export async function configFor(context: CliContext, options: JoinRunOptions): Promise<string | null> {
  if (options.gateway === true) return null;
  const { checkConfigIsTheUsers } = await import('../../gateway/config/trusted-config.ts');
  return checkConfigIsTheUsers(context, options.config, approvingPerson(context));
}

/** `writable`: folders that the sandbox can write to. `underWay` is called when there is nothing to do but wait for it. */
export async function joinOrStart(
  context: CliContext,
  options: JoinRunOptions,
  config: string | null,
  writable: readonly string[],
  underWay: () => void,
): Promise<RunGateway> {
  const { RunGateway } = await import('../../gateway/run-gateway.ts');
  return RunGateway.open({
    home: context.places.home,
    cwd: context.cwd,
    entry: process.argv[1] ?? '',
    ownPath: process.env.PATH ?? '',
    env: context.env,
    config,
    writable,
    any: options.gateway === true,
    underWay,
    say: (text) => context.say(`sallyport: ${printable(text)}`),
  });
}

export async function factsOf(context: CliContext, options: JoinRunOptions, gateway: RunGateway): Promise<JoinedFacts> {
  const isTold = context.isTerminal && options.quiet !== true;
  const { client, joined } = gateway;
  const [credentials, dashboard] = await Promise.all([
    client.call<{ credentials: CredentialStatus[] }>('GET', '/internal/credentials').then((all) => all.credentials),
    options.dashboard === true || isTold ? dashboardOf(gateway, options.dashboard === true) : null,
  ]);
  const { config } = joined.answer;
  return { credentials, config, dashboard, notices: noticesOf(joined) };
}

async function dashboardOf({ client }: RunGateway, isAsked: boolean): Promise<string | null> {
  const path = isAsked ? '/internal/dashboard?open=1' : '/internal/dashboard';
  try {
    return (await client.call<{ address: string }>('POST', path)).address;
  } catch (error) {
    if (error instanceof Error && error.name === 'AdminRefused' && !isAsked) return null;
    throw error;
  }
}

function noticesOf({ answer, isOwn, passedBy }: RunGateway['joined']): string[] {
  const names = { up: 'of `sallyport up`', service: 'of the service', run: 'of another run' };
  if (!isOwn) return [`it uses the gateway ${names[answer.kind]} (process ${answer.pid}), with its keys`];
  return passedBy.map(
    ({ kind, pid, why }) =>
      `it does not use the gateway ${names[kind]} (process ${pid}), and has one of its own: ${why}`,
  );
}
