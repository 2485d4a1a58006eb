// Which folders sandboxes could write to, and which configuration was out of their reach while they did. A `sallyport.yaml`
// that turned up there since may be a sandbox's own work, written for the next run to be judged by: whoever is about to
// follow it asks here first. // Guards: threats.md T36
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Before a sandbox starts. `guarded`: files that it cannot change. */
export function noteWrittenFolders(state: string, folders: readonly string[], guarded: readonly string[]): void {
  const kept = guarded.map(realPath);
  for (const folder of folders.map(realPath)) {
    const before = readNote(state, folder);
    // Once out of our sight, always in doubt: only what was guarded every time stays beyond it.
    const always = before === null ? kept : before.filter((file) => kept.includes(file));
    if (before === null || always.length !== before.length) writeNote(state, folder, always);
  }
}

/** Whether a sandbox may have written this configuration, and nobody has said since that it is theirs. */
export function isDoubtful(state: string, config: string): boolean {
  const file = realPath(config);
  return foldersAbove(file).some((folder) => readNote(state, folder)?.includes(file) === false);
}

/** Its user has named it: it is theirs, until a sandbox runs here again that could change it. */
export function approveConfig(state: string, config: string): void {
  const file = realPath(config);
  for (const folder of foldersAbove(file)) {
    const guarded = readNote(state, folder);
    if (guarded?.includes(file) === false) writeNote(state, folder, [...guarded, file]);
  }
}

function foldersAbove(file: string): string[] {
  const above = dirname(file);
  return above === file ? [] : [above, ...foldersAbove(above)];
}

/** Null: no sandbox could write there. A note that cannot be read means that nothing was guarded. */
function readNote(state: string, folder: string): readonly string[] | null {
  const path = noteOf(state, folder);
  if (!existsSync(path)) return null;
  try {
    const { guarded } = JSON.parse(readFileSync(path, 'utf8')) as { guarded: string[] };
    return guarded.filter((file) => typeof file === 'string');
  } catch {
    return [];
  }
}

function writeNote(state: string, folder: string, guarded: readonly string[]): void {
  const path = noteOf(state, folder);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify({ folder, guarded }), { mode: 0o600 });
  renameSync(temporary, path);
}

function noteOf(state: string, folder: string): string {
  return join(state, 'written', createHash('sha256').update(folder).digest('hex'));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
