// How the journal lies on the disk: the names of its files, the form of a line, and the head, a small file that
// remembers the last record and the oldest one kept. Reads and forms only: it never changes anything.
import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { LetGo } from './retention.ts';

/** What the first record of all names as the hash of the one before it. */
export const genesis = '0'.repeat(64);

export interface Head {
  /** The last record written; 0 before the first. */
  readonly seq: number;
  readonly hash: string;
  /** The first record that retention has left. */
  readonly oldest: number;
}

export interface JournalFile {
  readonly number: number;
  readonly name: string;
  readonly path: string;
}

const fileName = /^journal-(\d{6,12})\.jsonl$/;
const linkPrefix = /^\{"seq":(\d{1,15}),"prev":"([0-9a-f]{64})",/;
const timeField = /"time":"([^"]{20,30})"/;
const noteField = /^\{"seq":\d{1,15},"prev":"[0-9a-f]{64}","time":"[^"]{20,30}","note":"([a-z-]{1,20})"/;
const headLine = /^ *(\d{1,15}) ([0-9a-f]{64}) +(\d{1,15})\n$/;
/** `{"seq":<15 digits>,"prev":"<64>",` and a little more. */
const linkBytes = 112;
/** A note of what went is shorter. */
const noteBytes = 2048;

export function journalFile(directory: string, number: number): JournalFile {
  const name = `journal-${String(number).padStart(6, '0')}.jsonl`;
  return { number, name, path: join(directory, name) };
}

export function headPath(directory: string): string {
  return join(directory, 'head');
}

/** The files of the journal in order. An empty list also when there is no directory. */
export function listJournalFiles(directory: string): JournalFile[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return names
    .map((name) => fileName.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map((digits) => journalFile(directory, Number(digits)))
    .sort((a, b) => a.number - b.number);
}

/** The first number that is missing between the first and the last file; null when there is none. */
export function findGap(files: readonly JournalFile[]): number | null {
  for (let i = 1; i < files.length; i++) {
    const expected = files[i - 1]!.number + 1;
    if (files[i]!.number !== expected) return expected;
  }
  return null;
}

export function hashLine(line: string | Uint8Array): string {
  return hash('sha256', line, 'hex');
}

/** The chain's own two fields of a line; null when the line does not begin as the journal writes it. */
export function readLink(line: Buffer): { readonly seq: number; readonly prev: string } | null {
  const match = linkPrefix.exec(line.toString('latin1', 0, linkBytes));
  return match === null ? null : { seq: Number(match[1]), prev: match[2]! };
}

/** When a record began, as it stands in its line; null when it does not say. */
export function readTime(line: Buffer): string | null {
  return timeField.exec(line.toString('latin1', 0, 256))?.[1] ?? null;
}

/** The kind of a line that is no request; null: it is one. */
export function readNoteKind(line: Buffer): string | null {
  return noteField.exec(line.toString('latin1', 0, 192))?.[1] ?? null;
}

/** What retention has let go, where a line says so. */
export function readLetGo(line: Buffer): LetGo | null {
  if (readNoteKind(line) !== 'let-go') return null;
  try {
    const { count, files, bytes, from, to } = JSON.parse(line.toString('utf8')) as Record<string, unknown>;
    if (![count, files, bytes].every(Number.isSafeInteger)) return null;
    return {
      count: count as number,
      files: files as number,
      bytes: bytes as number,
      from: typeof from === 'string' ? from : null,
      to: typeof to === 'string' ? to : null,
    };
  } catch {
    return null;
  }
}

/** Where the journal of a worker stood, in a line of the gateway's own. */
export interface NotedWorker {
  readonly worker: number;
  readonly seq: number;
  readonly hash: string;
  readonly time: string;
  /** Retention has let all of it go. */
  readonly gone: boolean;
}

export function readNotedWorker(line: Buffer): NotedWorker | null {
  if (readNoteKind(line) !== 'worker') return null;
  try {
    const { worker, count, hash, time, gone } = JSON.parse(line.toString('utf8')) as Record<string, unknown>;
    if (!Number.isSafeInteger(worker) || !Number.isSafeInteger(count)) return null;
    if (typeof hash !== 'string' || typeof time !== 'string') return null;
    return { worker: worker as number, seq: count as number, hash, time, gone: gone === true };
  } catch {
    return null;
  }
}

/** How a file begins. `seq` is null when it is empty or does not begin with a record. */
export function readFirst(path: string): {
  readonly seq: number | null;
  readonly firstTime: string | null;
  readonly letGo: LetGo | null;
  readonly bytes: number;
  readonly endedMs: number;
} {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size: bytes, mtimeMs: endedMs } = fstatSync(fd);
    const start = Buffer.alloc(noteBytes);
    const read = start.subarray(0, readSync(fd, start, 0, noteBytes, 0));
    const end = read.indexOf(10);
    const letGo = end < 0 ? null : readLetGo(read.subarray(0, end));
    return { seq: readLink(read)?.seq ?? null, firstTime: readTime(read), letGo, bytes, endedMs };
  } finally {
    closeSync(fd);
  }
}

/** Always the same number of bytes, so that it can be overwritten in place by one small write. */
export function formatHead(head: Head): string {
  return `${String(head.seq).padStart(15)} ${head.hash} ${String(head.oldest).padStart(15)}\n`;
}

/** null: there is none, or nothing in it: it was made a moment before the power went. 'unreadable': there is one and it is not a head. */
export function readHead(directory: string): Head | null | 'unreadable' {
  let text: string;
  try {
    text = readFileSync(headPath(directory), 'latin1');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  if (text === '') return null;
  const match = headLine.exec(text);
  if (match === null) return 'unreadable';
  return { seq: Number(match[1]), hash: match[2]!, oldest: Number(match[3]) };
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
