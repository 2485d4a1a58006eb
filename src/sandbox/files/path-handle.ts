// A path held by a descriptor: what lies there now, whatever its name leads to a moment later. Such a descriptor neither reads
// nor writes. What is asked of it, or made in it, is asked of one thing and made in one folder, not of a name that may change hands.
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, type Stats } from 'node:fs';

/** O_PATH, which Node has no name for. The same on every machine that Node runs on. */
const pathOnly = 0o10000000;
/** As Linux has it. */
const maxLinks = 40;

export interface PathHandle {
  readonly stats: Stats;
  /** Device and inode. */
  readonly identity: string;
  /** Its own absolute path, without a link in it, as its mount namespace has it. */
  name(): string;
  /** Which mount it is seen through: one number for each, on the whole machine. */
  mountId(): number;
  /** What has this name in it; a link is held itself. Null: nothing, or not to be looked at. */
  child(name: string): PathHandle | null;
  /** The text of a link in it. */
  linkText(name: string): string;
  /** A path to this name in it, as long as it is held: for making or looking at something in this very folder. */
  place(name: string): string;
  close(): void;
}

/** The last part may be a link, and is then held itself. Null: nothing there, or not to be looked at. */
export function holdPath(path: string): PathHandle | null {
  let fd: number;
  try {
    fd = openSync(path, pathOnly | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
  const self = `/proc/self/fd/${fd}`;
  // In whole numbers: an inode may need all of its 64 bits.
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return {
    stats: fstatSync(fd),
    identity: `${dev}:${ino}`,
    name: () => readlinkSync(self),
    mountId: () => Number(/^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]),
    child: (name) => holdPath(`${self}/${name}`),
    linkText: (name) => readlinkSync(`${self}/${name}`),
    place: (name) => `${self}/${name}`,
    close: () => closeSync(fd),
  };
}

/** Device and inode of what lies at exactly this path; null when there is nothing, or a link is the path or leads to it. */
export function identityAt(path: string): string | null {
  const held = holdPath(path);
  try {
    return held === null || held.stats.isSymbolicLink() || held.name() !== path ? null : held.identity;
  } finally {
    held?.close();
  }
}

/** A folder as the processes of this one find it: its links, also absolute ones, lead to places in their own root. */
export function holdFolderOf(pid: number, folder: string): PathHandle | null {
  const root = `/proc/${pid}/root`;
  const held = holdPath(folder === '/' ? `${root}/.` : `${root}${folder}`);
  if (held?.stats.isDirectory() === true && held.name() === folder) return held;
  held?.close();
  return walk(root, folder);
}

function walk(root: string, folder: string): PathHandle | null {
  const ahead = namesIn(folder);
  /** The root, and every folder entered since. */
  const way = [holdPath(`${root}/.`)];
  let links = 0;
  try {
    for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
      if (name === '..') {
        if (way.length > 1) way.pop()?.close();
        continue;
      }
      const here = way.at(-1) ?? null;
      const next = here?.child(name) ?? null;
      if (here === null || next === null) return null;
      if (!next.stats.isSymbolicLink()) {
        way.push(next);
        continue;
      }
      next.close();
      if (++links > maxLinks) return null;
      const to = here.linkText(name);
      if (to.startsWith('/')) for (const left of way.splice(1)) left?.close();
      ahead.unshift(...namesIn(to));
    }
    return way.pop() ?? null;
  } catch {
    // The link was taken away.
    return null;
  } finally {
    for (const held of way) held?.close();
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
