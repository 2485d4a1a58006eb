// Which configurations a sandbox is kept from: the one in force, and every one that its user's next command would follow by
// itself, also where there is none yet. A sandbox that could write one would write its own policy. // Guards: threats.md T36
import { basename, dirname, join, resolve } from 'node:path';
import { configFileName, placesToLook, standInConfig } from '../../policy/load/config-places.ts';
import type { HostFiles } from '../files/host-files.ts';
import { joined } from '../files/path-relations.ts';
import type { StandIn } from './git-guards.ts';
import { realPath } from './way-to-file.ts';

export interface ConfigSurroundings {
  /** As the gateway says. */
  readonly inForce: readonly string[];
  /** The user's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  readonly userHome: string;
  /** What the sandbox can write to, the working directory among them. */
  readonly folders: readonly string[];
}

export function configurationsToKeep(around: ConfigSurroundings): readonly string[] {
  const { environment, workingDirectory: cwd, userHome: home } = around;
  const named = environment.SALLYPORT_CONFIG;
  return [
    ...new Set([
      ...around.inForce,
      ...(named ? [resolve(cwd, named)] : []),
      ...placesToLook({ cwd, home }),
      ...around.folders.map((folder) => join(folder, configFileName)),
    ]),
  ];
}

/** Where a user's own configuration lies or would lie: whoever sees the whole host could make it, so it counts as written. */
export function ownConfigFolder(userHome: string): string {
  return join(realPath(join(realPath(userHome), '.config')), 'sallyport');
}

export interface ConfigGuard {
  /** Where it really is. */
  readonly file: string;
  readonly standIn: StandIn | null;
}

/** Null: it is not there, and a sandbox that can write in `writable` cannot make it either. */
export function guardConfiguration(path: string, writable: readonly string[], files: HostFiles): ConfigGuard | null {
  const file = files.realPath(path);
  if (file !== null) {
    // One that a run left which was killed is taken over; it goes at the end.
    const isLeft = files.readText(file, 2 * standInConfig.length) === standInConfig;
    return { file, standIn: isLeft ? { path: file, text: standInConfig } : null };
  }
  const folder = files.realPath(dirname(path));
  // A link that leads nowhere cannot be mounted over: what turns up there is in doubt.
  if (folder === null || !writable.includes(folder) || files.look(path) !== null) return null;
  const place = joined(folder, basename(path));
  return { file: place, standIn: { path: place, text: standInConfig } };
}
