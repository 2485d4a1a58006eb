// Which configuration a gateway is started with, unless it may be a sandbox's work: one that lies where a sandbox could write
// is followed only when the user names it.
import { statSync } from 'node:fs';

/** The configuration that would be found by itself may be a sandbox's work. */
export class UntrustedConfig extends Error {
  override readonly name = 'UntrustedConfig';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

interface TrustPlaces {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly places: { readonly home: string };
}

/** Throws UntrustedConfig when the configuration that would be found by itself is in doubt. One that is named is the user's from then on. */
export async function checkConfigIsTheUsers(
  { env, cwd, places }: TrustPlaces,
  flag: string | undefined,
): Promise<void> {
  const { findConfigFile } = await import('../../policy/load/load-policy.ts');
  const { approveConfig, doubtOf } = await import('../../sandbox/traps/written-folders.ts');
  const { thisMachine } = await import('../../policy/load/machine-files.ts');
  const { quoteIfNeeded } = await import('../../kit/text/shell-quote.ts');
  // The very home that the gateway looks in: where HOME is not set, another file would be judged than is read.
  const file = findConfigFile({ flag, env, cwd, home: thisMachine(env).home });
  // A file that is not there is an error of its own, told by whoever reads it.
  const doubt = file === null || !isReadable(file) ? null : doubtOf(places.home, file);
  if (file === null || doubt === null) return;
  if (flag !== undefined || env.SALLYPORT_CONFIG) return approveConfig(places.home, file);
  throw new UntrustedConfig(
    doubt.what,
    `Read it. If it is yours, name it once: sallyport run --config ${quoteIfNeeded(file)} …`,
  );
}

function isReadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
