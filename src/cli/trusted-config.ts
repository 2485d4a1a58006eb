// Which configuration a gateway is started with, unless it may be a sandbox's work: one that lies where a sandbox could write
// is followed only when the user names it.
import { statSync } from 'node:fs';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './exit-code.ts';

/** Throws when the configuration that would be found by itself is in doubt. One that is named is the user's from then on. */
export async function checkConfigIsTheUsers(
  context: Pick<CliContext, 'env' | 'cwd'> & { readonly places: { readonly home: string } },
  flag: string | undefined,
): Promise<void> {
  const { findConfigFile } = await import('../policy/load-policy.ts');
  const { approveConfig, doubtOf } = await import('../launch/written-folders.ts');
  const { env, cwd, places } = context;
  const file = findConfigFile({ flag, env, cwd, home: env.HOME ?? '/' });
  // A file that is not there is an error of its own, told by whoever reads it.
  const doubt = file === null || !isReadable(file) ? null : doubtOf(places.home, file);
  if (file === null || doubt === null) return;
  if (flag !== undefined || env.SALLYPORT_CONFIG) return approveConfig(places.home, file);
  throw new CommandFailed(
    exitCode.usage,
    doubt.what,
    `Read it. If it is yours, name it once: sallyport run --config ${file} …`,
  );
}

function isReadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
