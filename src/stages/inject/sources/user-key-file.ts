// Reads a file of the user in which an agent keeps its key or login. Only a regular file of the user's own, below the home even
// after every link is followed, and not larger than such files are. What is wrong with one is said without its content.
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';

/** Claude keeps its history of projects beside its key, so these files can be large. */
const maxFileBytes = 16 * 1024 * 1024;

/** The file is there and is not used; the message says why, for the user. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/** A file that may be used, as it was found. */
export interface UserFile {
  readonly text: string;
  /** Where it really is, behind all links. */
  readonly realPath: string;
  readonly found: BigIntStats;
}

/** null: there is no such file. `path` is below `home`. Throws UnusableFile. */
export function readUserFile(home: string, path: string): string | null {
  return openUserFile(join(home, path), `~/${path}`, home)?.text ?? null;
}

/** null: there is no such file. `within`: where it must be after every link is followed; null: anywhere. Throws UnusableFile. */
export function openUserFile(path: string, shown: string, within: string | null): UserFile | null {
  const realPath = realPathOf(path, shown, within);
  if (realPath === null) return null;
  let fd: number;
  try {
    // O_NONBLOCK: a FIFO must not stop the gateway. O_NOFOLLOW: it was a real path a moment ago.
    fd = openSync(realPath, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW);
  } catch (error) {
    // Gone since: another took its place, or nothing did.
    if (codeOf(error) === 'ENOENT') return null;
    throw new UnusableFile(`${shown} was left alone: it cannot be opened (${codeOf(error)})`);
  }
  try {
    const found = fstatSync(fd, { bigint: true });
    if (!found.isFile()) throw new UnusableFile(`${shown} was left alone: it is not a regular file`);
    if (Number(found.uid) !== process.geteuid?.()) {
      throw new UnusableFile(`${shown} was left alone: it belongs to another user (uid ${found.uid})`);
    }
    if ((found.mode & 0o002n) !== 0n) {
      throw new UnusableFile(`${shown} was left alone: every user may write to it. Run  chmod 600 ${shown}`);
    }
    if (found.size > maxFileBytes) throw new UnusableFile(`${shown} was left alone: it is larger than 16 MiB`);
    return { text: readAtMost(fd, Number(found.size)), realPath, found };
  } finally {
    closeSync(fd);
  }
}

function realPathOf(path: string, shown: string, within: string | null): string | null {
  try {
    const real = realpathSync(path);
    // Guards: a link in the home that leads to a file of somebody else, or to one an agent could write.
    if (within !== null && !real.startsWith(`${realpathSync(within)}${sep}`)) {
      throw new UnusableFile(`${shown} was left alone: it is a link that leads out of the home directory`);
    }
    return real;
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UnusableFile(`${shown} was left alone: it cannot be looked at (${code})`);
  }
}

/** No more than was there when it was judged. */
function readAtMost(fd: number, size: number): string {
  const buffer = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const count = readSync(fd, buffer, length, size - length, null);
    if (count === 0) break;
    length += count;
  }
  return buffer.toString('utf8', 0, length);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
