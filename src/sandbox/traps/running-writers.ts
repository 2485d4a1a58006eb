// Which sandboxes run, what they can write to, and which file it was that each was kept from. A guard is a mount over one file:
// when the host puts another in its place (editors save so), Linux takes the mount away, and the sandbox can write there. So
// a file that is another one than at the start of a sandbox may be that sandbox's work. // Guards: threats.md T36
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { processBirth } from '../../kit/process/process-birth.ts';
import { liesIn, liesInAny } from '../files/path-relations.ts';
import { realPath, wayToFile } from './way-to-file.ts';

export interface Writer {
  readonly sandbox: string;
  /** Folders of the host that it can write to. */
  readonly folders: readonly string[];
  /** It sees the whole host, and can write whatever its user can. */
  readonly seesAll: boolean;
}

export interface RunningWriter {
  /** Once, when these files are there and the sandbox is about to be kept from them. Until then it may write them all. */
  keepFrom(guarded: readonly string[]): void;
  /** When every process of it is gone. Returns the guarded files that were replaced meanwhile. */
  end(): readonly string[];
}

/** A sandbox that may have written a configuration. */
export interface Suspect {
  readonly sandbox: string;
  readonly isRunning: boolean;
  /** Whether the file was guarded from it, until it was replaced. */
  readonly wasGuarded: boolean;
}

interface WriterNote {
  readonly sandbox: string;
  /** Whoever started it, with which it ends. */
  readonly pid: number;
  readonly birth: string | null;
  readonly hasEnded: boolean;
  readonly folders: readonly string[];
  readonly files: readonly NotedFile[];
}

interface NotedFile {
  readonly path: string;
  readonly identity: string;
  /** A link on the way to it can be changed at any moment, and nothing guards against that: where it leads cannot be relied on. */
  readonly isLoose: boolean;
}

const ending = '.json';
/** No file has it. */
const replaced = 'replaced';

/** Before anything is made in these folders. */
export function noteRunningWriter(state: string, writer: Writer): RunningWriter {
  const folders = writer.folders.map(realPath);
  const reach = writer.seesAll ? ['/'] : folders;
  const held: number[] = [];
  let note: WriterNote = {
    sandbox: writer.sandbox,
    pid: process.pid,
    birth: processBirth(process.pid),
    hasEnded: false,
    folders,
    files: [],
  };
  const place = join(placeIn(state), `${randomBytes(8).toString('hex')}${ending}`);
  writeNote(place, note);
  return {
    keepFrom(guarded) {
      const within = guarded.filter((file) => isWithin(file, reach));
      // Open as long as the sandbox runs: the number of a file that is gone would come again, perhaps for a file of its own.
      held.push(...within.flatMap(hold));
      const files = within.map((path) => ({ path, identity: identityOf(path), isLoose: isLoose(path, reach) }));
      note = { ...note, files };
      writeNote(place, note);
    },
    end() {
      const files = note.files.filter(isAnother).map((file) => ({ ...file, identity: replaced }));
      try {
        if (files.length === 0) rmSync(place, { force: true });
        else writeNote(place, { ...note, hasEnded: true, files });
      } catch {
        // A full disk, say: the note that stays is judged by what lies there, once this process is gone.
      }
      for (const descriptor of held.splice(0)) closeSync(descriptor);
      return files.map(({ path }) => path);
    },
  };
}

/** Who may have written this configuration, as far as sandboxes are concerned that run, or ran when it was replaced. */
export function findSuspect(state: string, config: string): Suspect | null {
  const suspects = readNotes(state).flatMap(({ place, note }) => {
    // What cannot be read may have spoken of this file.
    if (note === null) return [{ sandbox: 'unknown', isRunning: false, wasGuarded: true }];
    const { sandbox } = note;
    const isRunning = runs(note);
    const guarded = note.files.find(({ path }) => isSame(path, config));
    if (guarded !== undefined && isAnother(guarded)) return [{ sandbox, isRunning, wasGuarded: true }];
    if (isRunning && (guarded === undefined ? isWithin(config, note.folders) : guarded.isLoose))
      return [{ sandbox, isRunning, wasGuarded: false }];
    // It was killed before it could say that all was as it should be.
    if (!isRunning && !note.files.some(isAnother)) rmSync(place, { force: true });
    return [];
  });
  return suspects.find(({ isRunning }) => isRunning) ?? suspects[0] ?? null;
}

/** Whether another sandbox runs that can write in one of these folders. */
export function isWrittenByOthers(state: string, folders: readonly string[]): boolean {
  const real = folders.map(realPath);
  const touches = (folder: string): boolean => real.some((own) => liesIn(own, folder) || liesIn(folder, own));
  return readNotes(state).some(({ note }) => note === null || (runs(note) && note.folders.some(touches)));
}

/** Its user has said that it is theirs. Who runs and can write it stays a suspect. */
export function clearSuspects(state: string, config: string): void {
  for (const { place, note } of readNotes(state)) {
    const isOver = note === null || (!runs(note) && note.files.some(({ path }) => isSame(path, config)));
    if (isOver) rmSync(place, { force: true });
  }
}

function runs({ hasEnded, pid, birth }: WriterNote): boolean {
  return !hasEnded && birth !== null && processBirth(pid) === birth;
}

function isSame(noted: string, config: string): boolean {
  return noted === config || realPath(noted) === realPath(config);
}

function isWithin(file: string, folders: readonly string[]): boolean {
  return wayToFile(file).some((name) => liesInAny(dirname(name), folders));
}

function isLoose(file: string, folders: readonly string[]): boolean {
  const real = realPath(file);
  return wayToFile(file).some((name) => !liesIn(real, name) && liesInAny(dirname(name), folders));
}

function isAnother({ path, identity }: NotedFile): boolean {
  return identityOf(path) !== identity;
}

/** A file stays the same when it is written in place. One more name of it would be a name without a guard. */
function identityOf(path: string): string {
  try {
    const { dev, ino, nlink } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${nlink} ${realPath(path)}`;
  } catch {
    return 'not there';
  }
}

function hold(path: string): number[] {
  try {
    return [openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)];
  } catch {
    return [];
  }
}

function placeIn(state: string): string {
  return join(state, 'written', 'running');
}

function writeNote(place: string, note: WriterNote): void {
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(`${place}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${place}.new`, place);
}

/** A note that cannot be read is null. */
function readNotes(state: string): { place: string; note: WriterNote | null }[] {
  const folder = placeIn(state);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name.endsWith(ending))
    .flatMap((name): { place: string; note: WriterNote | null }[] => {
      const place = join(folder, name);
      try {
        return [{ place, note: JSON.parse(readFileSync(place, 'utf8')) as WriterNote }];
      } catch (error) {
        // Gone: it has ended just now, and all was as it should be.
        return (error as NodeJS.ErrnoException).code === 'ENOENT' ? [] : [{ place, note: null }];
      }
    });
}
