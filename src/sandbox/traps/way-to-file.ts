// Lists every name on the way to a file, including those that links lead through: anyone who can replace one of them decides
// what is found at the end. Reads links and nothing else.
import { readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

/** As Linux has it. */
const maxLinks = 40;

/** `path` must be absolute. The names are real but for the last part of each: a folder that holds one is a real folder. */
export function wayToFile(path: string): string[] {
  return walk(path, () => true).way;
}

/** Where a path ends when links are followed only in folders that `follows` says yes to. It may end at nothing. */
export function endOfPath(path: string, follows: (folder: string) => boolean): string {
  return walk(path, follows).end;
}

function walk(path: string, follows: (folder: string) => boolean): { readonly way: string[]; readonly end: string } {
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
    const target = follows(here) ? linkAt(next) : null;
    if (target === null) here = next;
    else if (++links > maxLinks) break;
    else {
      if (isAbsolute(target)) here = '/';
      ahead.unshift(...namesIn(target));
    }
  }
  return { way, end: here };
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
