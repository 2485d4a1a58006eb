// Every name on the way to a file, those that links lead over included: whoever can replace one of them decides what is found
// at the end. Reads links and nothing else.
import { readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

/** As Linux has it. */
const maxLinks = 40;

/** `path` must be absolute. The names are real but for the last part of each: a folder that holds one is a real folder. */
export function wayToFile(path: string): string[] {
  const way: string[] = [];
  const ahead = namesIn(path);
  let here = '/';
  let links = 0;
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '..') {
      here = dirname(here);
      continue;
    }
    const next = join(here, name);
    way.push(next);
    const target = linkAt(next);
    if (target === null) here = next;
    else if (++links > maxLinks) break;
    else {
      if (isAbsolute(target)) here = '/';
      ahead.unshift(...namesIn(target));
    }
  }
  return way;
}

/** A path that leads nowhere stays what it is. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
