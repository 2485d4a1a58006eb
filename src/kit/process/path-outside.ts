// The PATH for programs that we start ourselves, outside any sandbox. A folder that a sandbox can write to must not be in it:
// `npx` and `npm run` put the project's own node_modules/.bin in front, and an agent may have left a `git` there.
import { realpathSync } from 'node:fs';
import { delimiter, isAbsolute, relative } from 'node:path';

/** Without relative entries, and without those that are, or lead, into one of the folders. */
export function pathOutside(path: string, folders: readonly string[]): string {
  const closed = folders.flatMap((folder) => realPath(folder) ?? []);
  return path
    .split(delimiter)
    .filter((entry) => {
      if (!isAbsolute(entry)) return false;
      const real = realPath(entry);
      // What is not there yet could be made later, by whoever can write there.
      return [entry, real ?? entry].every((one) => !closed.some((folder) => liesIn(one, folder)));
    })
    .join(delimiter);
}

function liesIn(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
