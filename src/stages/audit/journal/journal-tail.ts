// What a starting gateway finds of the journal: nothing, an end to go on from, or something that does not hold
// together. Looks at the end of the chain only; `verify.ts` reads all of it. Changes nothing.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import {
  findGap,
  genesis,
  type Head,
  hashLine,
  type JournalFile,
  listJournalFiles,
  readFirst,
  readHead,
  readLink,
} from './journal-files.ts';
import { type LetGo, nothingWent } from './retention.ts';

export interface KeptFile extends JournalFile {
  readonly firstSeq: number;
  /** When its first record began; null: it does not say. */
  readonly firstTime: string | null;
  readonly bytes: number;
  /** When it was last written to. */
  readonly endedMs: number;
}

export type Tail =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'broken'; readonly reason: string }
  | {
      readonly kind: 'continue';
      readonly seq: number;
      readonly hash: string;
      readonly oldest: number;
      readonly files: KeptFile[];
      /** Whole lines in the last file, in bytes. */
      readonly size: number;
      /** Bytes after the last whole line: a write that a crash cut short. */
      readonly tornBytes: number;
      /** All that retention has let go, as the chain says it; null: it does not, although records are gone. */
      readonly letGo: LetGo | null;
    };

/** The head is at most one turn of the event loop behind: this much nearly always reaches back to it. */
const windowBytes = 4 * 1024 * 1024;

export function readTail(directory: string): Tail {
  const head = readHead(directory);
  const files = listJournalFiles(directory);
  if (head === 'unreadable') return broken('its head file is not readable');
  if (head === null) return files.length === 0 ? { kind: 'fresh' } : broken('its head file is missing or empty');
  if (files.length === 0) {
    if (head.seq > 0) return broken(`the head names record ${head.seq}, but there is no journal file`);
    return { kind: 'fresh' };
  }
  const gap = findGap(files);
  if (gap !== null)
    return broken(`a file is missing between ${files[0]!.name} and ${files.at(-1)!.name}: number ${gap}`);
  return readLastFile(head, files);
}

function readLastFile(head: Head, files: JournalFile[]): Tail {
  const last = files.at(-1)!;
  const kept: KeptFile[] = [];
  let letGo: LetGo | null = null;
  for (const file of files) {
    const first = readFirst(file.path);
    const { firstTime, bytes, endedMs } = first;
    letGo = first.letGo ?? letGo;
    if (first.seq !== null) kept.push({ ...file, firstSeq: first.seq, firstTime, bytes, endedMs });
    // A file is made before its first record is written, so the last one may be empty after a crash.
    else if (file === last && bytes < 512) kept.push({ ...file, firstSeq: head.seq + 1, firstTime, bytes, endedMs });
    else return broken(`${file.name} does not begin with a record`);
  }
  if (kept[0]!.firstSeq > head.oldest) {
    return broken(
      `the records ${head.oldest} to ${kept[0]!.firstSeq - 1} are missing, and retention did not remove them`,
    );
  }
  let end = readEnd(head, last);
  if (end.kind === 'empty') {
    const before = kept.length > 1 ? readEnd(head, kept.at(-2)!) : null;
    if (before === null) {
      if (head.seq !== 0) return broken(`the head names record ${head.seq}, but ${last.name} is empty`);
      end = { ...end, seq: 0, hash: genesis };
    } else if (before.kind !== 'records' || before.tornBytes > 0) {
      return broken(before.kind === 'broken' ? before.reason : `${kept.at(-2)!.name} does not end with a whole record`);
    } else {
      end = { ...end, seq: before.seq, hash: before.hash };
    }
  }
  if (end.kind === 'broken') return broken(end.reason);
  const { seq, hash, size, tornBytes } = end;
  if (letGo === null && kept[0]!.firstSeq === 1) letGo = nothingWent;
  return { kind: 'continue', seq, hash, oldest: head.oldest, files: kept, size, tornBytes, letGo };
}

type End =
  | { readonly kind: 'broken'; readonly reason: string }
  | {
      readonly kind: 'records' | 'empty';
      readonly seq: number;
      readonly hash: string;
      readonly size: number;
      readonly tornBytes: number;
    };

/** Follows the chain through the end of one file, from the head's record or from the file's first. */
function readEnd(head: Head, file: JournalFile): End {
  const total = sizeOf(file.path);
  for (const window of [Math.min(windowBytes, total), total]) {
    const bytes = readFrom(file.path, total - window);
    const whole = bytes.lastIndexOf(10) + 1;
    const tornBytes = bytes.length - whole;
    const size = total - tornBytes;
    let at = window === total ? 0 : bytes.indexOf(10) + 1;
    if (at >= whole) {
      if (window < total) continue;
      return { kind: 'empty', seq: 0, hash: genesis, size, tornBytes };
    }
    let seq = 0;
    let hash = '';
    let headSeen = false;
    let beginsLate = false;
    while (at < whole) {
      const end = bytes.indexOf(10, at);
      const line = bytes.subarray(at, end);
      const link = readLink(line);
      if (link === null) return unsound(file, seq, 'is not a record');
      if (hash === '') {
        // The head may name the last record of the file before this one.
        if (link.seq === head.seq + 1) headSeen = link.prev === head.hash;
        beginsLate = link.seq > head.seq && !headSeen;
        if (beginsLate) break;
      } else if (link.seq !== seq + 1) return unsound(file, seq, `is record ${link.seq}`);
      else if (link.prev !== hash) return unsound(file, seq, 'does not hold the hash of the record before it');
      seq = link.seq;
      hash = hashLine(line);
      if (seq === head.seq) {
        if (hash !== head.hash)
          return { kind: 'broken', reason: `record ${seq} in ${file.name} is not the one the head names` };
        headSeen = true;
      }
      at = end + 1;
    }
    if (headSeen) return { kind: 'records', seq, hash, size, tornBytes };
    if (!beginsLate)
      return { kind: 'broken', reason: `the head names record ${head.seq}, but ${file.name} ends with record ${seq}` };
    if (window === total)
      return { kind: 'broken', reason: `${file.name} does not go on from record ${head.seq}, which the head names` };
  }
  return { kind: 'broken', reason: `${file.name} could not be read to its end` };
}

function unsound(file: JournalFile, seq: number, what: string): End {
  return { kind: 'broken', reason: `in ${file.name} the line after record ${seq} ${what}` };
}

function broken(reason: string): Tail {
  return { kind: 'broken', reason };
}

function sizeOf(path: string): number {
  return withFile(path, (fd) => fstatSync(fd).size);
}

function readFrom(path: string, position: number): Buffer {
  return withFile(path, (fd) => {
    const bytes = Buffer.alloc(fstatSync(fd).size - position);
    let filled = 0;
    while (filled < bytes.length) {
      const read = readSync(fd, bytes, filled, bytes.length - filled, position + filled);
      if (read === 0) break;
      filled += read;
    }
    return bytes.subarray(0, filled);
  });
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
