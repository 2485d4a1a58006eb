// Reads the CA's files only when no one else can have written them, and the key only when no one else can have
// read it. Checks what was opened, not what the name pointed to a moment before. Never changes anything.
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { CaError } from './ca-error.ts';

const maxBytes = 64 * 1024;

/** The directory must be ours, and no one else may write in it. */
export async function checkCaDirectory(directory: string): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory()) {
    throw new CaError(
      `${directory} is not a directory (a symbolic link is not followed): make it a directory of its own`,
    );
  }
  checkOwner(directory, found.uid);
  if ((found.mode & 0o022) !== 0) {
    throw new CaError(
      `${directory} can be written by other users, who could replace the CA: run  chmod 700 ${directory}`,
    );
  }
}

/**
 * The text of a file, or null when there is none. `forbidden` are the mode bits that must be off, `fix` the mode that
 * the error tells to set.
 */
export async function readGuarded(path: string, forbidden: number, fix: string): Promise<string | null> {
  // O_NONBLOCK: opening a FIFO in place of the file must not hang the start.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return null;
    if (isErrno(error, 'ELOOP')) {
      throw new CaError(`${path} is a symbolic link, which is not followed: put the file itself in its place`);
    }
    if (isErrno(error, 'EACCES')) {
      throw new CaError(`${path} cannot be read by this user: run  chown ${ownUid()} ${path} && chmod ${fix} ${path}`);
    }
    throw error;
  });
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CaError(`${path} is not a regular file: move it away`);
    checkOwner(path, found.uid);
    if ((found.mode & forbidden) !== 0) {
      const mode = (found.mode & 0o777).toString(8);
      throw new CaError(`${path} is open to other users (mode ${mode}): run  chmod ${fix} ${path}`);
    }
    if (found.size > maxBytes)
      throw new CaError(`${path} is larger than ${maxBytes} bytes: it is not a key or certificate`);
    return await file.readFile('latin1');
  } finally {
    await file.close();
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function checkOwner(path: string, uid: number): void {
  if (uid !== ownUid() && uid !== 0) {
    throw new CaError(`${path} belongs to another user (uid ${uid}): run  chown ${ownUid()} ${path}`);
  }
}

function ownUid(): number {
  return process.geteuid?.() ?? 0;
}
