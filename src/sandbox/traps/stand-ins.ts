// Makes the files that mounts need as targets, removes them at the end, and reports guarded files that were replaced meanwhile:
// when the host replaces such a file (git config does), Linux removes the mount, and the sandbox can write there.
// Another sandbox may put a link in the place of a folder meanwhile: nothing is ever made through one.
import { lstatSync, mkdirSync, readFileSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { holdPath } from '../files/path-handle.ts';
import { changedSinceJudged } from '../files/verify-mounts.ts';
import type { Mount } from '../run/sandbox-plan.ts';
import type { StandIn } from './git-guards.ts';

export interface LaidGuards {
  /** Without those for which nothing could be made: where its user cannot write, the sandbox cannot either. */
  readonly mounts: readonly Mount[];
  /** When every process of the sandbox is gone. Returns the guarded files that are others than at the start. */
  end(options: { readonly keepStandIns: boolean }): readonly string[];
}

export function layGuards(
  standIns: readonly StandIn[],
  mounts: readonly Mount[],
  guarded: readonly string[],
): LaidGuards {
  const ours: LaidStandIn[] = [];
  const missing = new Set<string>();
  try {
    for (const standIn of standIns) {
      // Where its folder could not be made, neither can it.
      const place = missing.has(dirname(standIn.path)) ? null : lay(standIn);
      if (place === null) missing.add(standIn.path);
      else if (place.isOurs) ours.push({ ...standIn, identity: place.identity });
    }
  } catch (error) {
    for (const each of ours.toReversed()) takeAway(each);
    throw error;
  }
  const watched = guarded.filter((path) => !missing.has(path)).map((path) => ({ path, identity: identityOf(path) }));
  return {
    mounts: mounts.filter((mount) => !('source' in mount && missing.has(mount.source))),
    end({ keepStandIns }) {
      const replaced = watched.filter(({ path, identity }) => identityOf(path) !== identity).map(({ path }) => path);
      // The folder around them comes first in the list, and last here.
      if (!keepStandIns) for (const each of ours.toReversed()) takeAway(each);
      return replaced;
    },
  };
}

interface LaidStandIn extends StandIn {
  readonly identity: string | null;
}

/** Null: nothing is there, and nothing could be made. What a run left which was killed is taken over. // Guards: threats.md T80 */
function lay({ path, text }: StandIn): { readonly isOurs: boolean; readonly identity: string | null } | null {
  const folder = holdPath(dirname(path));
  try {
    if (folder === null || folder.stats.isSymbolicLink() || folder.name() !== dirname(path))
      throw changedSinceJudged(path);
    const place = folder.place(basename(path));
    const isOurs = make(place, text);
    const identity = identityOf(place);
    return identity === null ? null : { isOurs, identity };
  } finally {
    folder?.close();
  }
}

function make(place: string, text: string | null): boolean {
  try {
    if (text === null) mkdirSync(place);
    else writeFileSync(place, text, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    return isThere && text !== null && holds(place, text);
  }
}

function takeAway({ path, text, identity }: LaidStandIn): void {
  if (identityOf(path) !== identity) return;
  try {
    if (text === null) rmdirSync(path);
    else if (holds(path, text)) unlinkSync(path);
  } catch {
    // Something else is in the folder by now: it stays.
  }
}

function holds(path: string, text: string): boolean {
  return lstatSync(path).isFile() && readFileSync(path, 'utf8') === text;
}

/** With its birth: the number of a file that is gone comes again. Null: nothing there. */
function identityOf(path: string): string | null {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}
