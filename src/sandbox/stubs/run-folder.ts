// The folder that holds what one running sandbox was given: its files, its fresh home, its /tmp. Gone with the sandbox; what
// a launcher that was killed left behind, the next start removes. Nothing in it is secret.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';
import { processBirth } from '../../kit/process/process-birth.ts';

export interface RunFolder {
  /** What we lay down for the sandbox to read. */
  readonly files: string;
  readonly home: string;
  readonly tmp: string;
  remove(): Promise<void>;
}

/** The name says whose it is, so that there is no moment in which it belongs to nobody. */
export function makeRunFolder(parent: string, id: string): RunFolder {
  ensurePrivateDirectory(parent);
  // The home of its user may be behind a link; what is mounted is not.
  const path = join(realpathSync(parent), `${id}.${process.pid}.${processBirth(process.pid)}`);
  const [files, home, tmp] = ['files', 'home', 'tmp'].map((name) => join(path, name)) as [string, string, string];
  for (const folder of [path, files, home, tmp]) mkdirSync(folder, { mode: 0o700 });
  return { files, home, tmp, remove: () => removeTree(path) };
}

/** Removes the folders whose launcher is gone. Returns how many there were. */
export async function cleanRunFolders(parent: string): Promise<number> {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    return 0;
  }
  const left = names.filter((name) => !hasLivingOwner(name));
  await Promise.all(left.map((name) => removeTree(join(parent, name))));
  return left.length;
}

function hasLivingOwner(name: string): boolean {
  const owner = /\.(\d+)\.(\d+)$/.exec(name);
  return owner !== null && processBirth(Number(owner[1])) === owner[2];
}

async function removeTree(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 2 };
  try {
    await rm(path, options);
  } catch {
    // Folders that nobody may write to (Go's module cache is made of them) keep what is in them. Links are not followed.
    await promisify(execFile)('chmod', ['-R', 'u+rwX', path]).catch(() => {});
    await rm(path, options);
  }
}
