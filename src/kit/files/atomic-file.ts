// Writes a small file so that a crash at any moment leaves either the old content or the new, never half of one.
// The new content is on the disk before the promise resolves. Never follows or overwrites a file that stands in
// the way of its own temporary name.
import { randomBytes } from 'node:crypto';
import { open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export async function writeFileAtomically(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  // 'wx' is O_EXCL: a planted symlink under this name makes the write fail instead of leading it elsewhere.
  const file = await open(temporary, 'wx', mode);
  try {
    try {
      // The mode given to open is cut by the umask; this one is not.
      await file.chmod(mode);
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory);
}

/** What writes of this file have left that a crash cut short. Only for the one process that writes it. */
export async function removeUnfinished(path: string): Promise<void> {
  const directory = dirname(path);
  const beginning = `.${basename(path)}.`;
  const names = await readdir(directory).catch(() => []);
  const unfinished = names.filter(
    (name) => name.startsWith(beginning) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(beginning.length)),
  );
  for (const name of unfinished) await unlink(join(directory, name)).catch(() => {});
}

/** Makes a rename or an unlink in the directory survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
