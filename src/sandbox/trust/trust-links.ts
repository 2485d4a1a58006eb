// A cache of symbolic links. A folder of certificates has about three hundred, and making them is slow on a file system with a
// journal; hard-linking one that exists is fast. A link never changes, so the cache never grows stale. Without a cache the
// links are simply made.
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
