// The PATH for programs that we start ourselves, in a process that is not ours: what a sandbox can write to is left out of it,
// and the process's own PATH stays as it is. The command line, whose process is its own, changes that one instead.
import { pathOutside } from './path-outside.ts';

/** A folder that a sandbox could once write to is never trusted again, even if it belongs to somebody else now. */
const closed = new Set<string>();

/** From now on no program of ours comes from these folders. */
export function closeToOwnPrograms(folders: readonly string[]): void {
  for (const folder of folders) closed.add(folder);
}

/** PATH as it is now, without the folders that are closed. */
export function ownPath(path: string = process.env.PATH ?? ''): string {
  return closed.size === 0 ? path : pathOutside(path, [...closed]);
}
