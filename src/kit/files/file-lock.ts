// One holder at a time for a directory of state: flock(2) on a file in it. The kernel lets go when the process
// ends, also by kill -9, so there is no stale lock to judge. Never waits: a second holder is told at once.
import { closeSync, constants, openSync } from 'node:fs';
import koffi from 'koffi';

const LOCK_EX = 2;
const LOCK_NB = 4;

let flock: ((fd: number, operation: number) => number) | null = null;

/** Takes the lock and returns how to let go of it; null when another process holds it. */
export function takeLock(path: string): (() => void) | null {
  flock ??= koffi.load(null).func('int flock(int fd, int operation)');
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  if (flock(fd, LOCK_EX | LOCK_NB) === 0) return () => closeSync(fd);
  const errno = koffi.errno();
  closeSync(fd);
  if (errno === koffi.os.errno.EWOULDBLOCK) return null;
  throw new Error(`${path} could not be locked (errno ${errno}); is it on a file system without locks?`);
}
