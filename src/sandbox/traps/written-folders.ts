// Which folders sandboxes could write to, and which configuration was out of their reach while they did. A `sallyport.yaml`
// that turned up there since may be a sandbox's own work, written for the next run to be judged by: whoever is about to
// follow it asks here first. // Guards: threats.md T36
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { ConfigInDoubt } from '../../policy/load/config-in-doubt.ts';
import { LaunchError, type Mount } from '../run/sandbox-plan.ts';
import { clearSuspects, findSuspect, type Suspect } from './running-writers.ts';
import { endOfPath, realPath, wayToFile } from './way-to-file.ts';

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
  return doubtOf(state, config) !== null;
}

/** Throws a ConfigInDoubt. */
export function refuseDoubtful(state: string, config: string): void {
  const doubt = doubtOf(state, config);
  if (doubt !== null) throw doubt;
}

export function doubtOf(state: string, config: string): ConfigInDoubt | null {
  const path = resolve(config);
  const suspect = findSuspect(state, path);
  if (suspect !== null) return suspicion(path, suspect);
  const file = realPath(path);
  if (!foldersOnTheWay(path).some((folder) => readNote(state, folder)?.includes(file) === false)) return null;
  const what = `${path} is in a place where a sandbox could write, and was missing or unguarded while one ran: the sandbox may have written it`;
  return new ConfigInDoubt(what, afterReading(path), false);
}

/** Whether a sandbox could write to a folder around this one. */
export function liesInWritten(state: string, folder: string): boolean {
  return foldersAbove(resolve(folder)).some((above) => readNote(state, above) !== null);
}

/**
 * Its user has named it: it is theirs, until a sandbox runs here again that could change it. While one runs that can, nothing is
 * noted: the word would hold for whatever the sandbox leaves there when it ends.
 */
export function approveConfig(state: string, config: string): void {
  const path = resolve(config);
  if (findSuspect(state, path)?.isRunning === true) return;
  const file = realPath(path);
  for (const folder of foldersOnTheWay(path)) {
    const guarded = readNote(state, folder);
    if (guarded?.includes(file) === false) writeNote(state, folder, [...guarded, file]);
  }
  clearSuspects(state, path);
}

/**
 * What a user names for the sandbox is what is mounted there, or what the user's own links lead to; never what a link leads to
 * that lies where sandboxes can write. `real` is what was judged, so it does not matter what lies there now. // Guards: threats.md T81
 */
export function refuseLinksOfSandboxes(
  state: string,
  named: readonly { readonly source: string; readonly target: string }[],
  mounts: readonly Mount[],
): void {
  const isTheirs = (folder: string) => [folder, ...foldersAbove(folder)].some((each) => readNote(state, each) !== null);
  for (const { source, target } of named) {
    const mount = mounts.find((each) => each.target === target);
    if (mount === undefined || !('source' in mount)) continue;
    const end = endOfPath(resolve(source), (folder) => !isTheirs(folder));
    if (mount.source !== end)
      throw new LaunchError(
        `${source} leads to ${mount.source} through a link in a folder that sandboxes can write to: a sandbox may have made it`,
        `If that is what you want, name it: ${quoteForShell(mount.source)}. Otherwise look at the link, and remove it.`,
      );
  }
}

function suspicion(path: string, { sandbox, isRunning, wasGuarded }: Suspect): ConfigInDoubt {
  const what = wasGuarded
    ? `${path} was replaced while sandbox ${sandbox} could write there: the sandbox may have written it`
    : `${path} is in a place where sandbox ${sandbox} can write, and is not guarded: the sandbox may have written it`;
  if (!isRunning) return new ConfigInDoubt(what, afterReading(path), false);
  const until = 'That sandbox can write to it now, so its changes are not used until the sandbox has ended. Then:';
  return new ConfigInDoubt(what, `${until} ${afterReading(path)}`, true);
}

function afterReading(path: string): string {
  return `Read it. If it is yours: sallyport config approve ${quoteForShell(path)}`;
}

/** Where a sandbox would have to write to decide what is found at this path. */
function foldersOnTheWay(path: string): string[] {
  return [...new Set(wayToFile(path).flatMap(foldersAbove))];
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
