// Symbolic links at the price of hard ones. A folder of certificates has some three hundred links, and a file system with a
// journal makes new ones so slowly that it is felt at every start; another name for a link that is there costs next to
// nothing. A link never changes, so what is kept never grows old. Never the only way: without a cache links are just made.
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, symlinkSync } from 'node:fs';

export type MakeLink = (target: string, path: string) => void;

/** The cache is a folder of links, each named after where it leads; best on the file system where links are to be made. */
export function linksKeptIn(cache: string | undefined): MakeLink {
  if (cache === undefined) return symlinkSync;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  return (target, path) => {
    const kept = `${cache}/${createHash('sha256').update(target).digest('hex').slice(0, 32)}`;
    if (gives(kept, path)) return;
    // Not kept yet, on another file system, or more names than a file may have.
    symlinkSync(target, path);
    gives(path, kept);
  };
}

/** link(2) does not follow `from`: the link itself gets another name. */
function gives(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}
