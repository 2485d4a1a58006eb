// Which journal files may be removed when a new one begins, and the note about those that were. Young files stay, however
// many there are; when they fill the journal's space, nothing is removed and nothing is served. Decides; never touches a file.
import type { KeptFile } from './journal-tail.ts';
import type { LetGoNote } from './record.ts';

export interface RetentionLimits {
  readonly maxFileBytes: number;
  readonly keepFiles: number;
  /** No file goes that was written to so lately. Left out: none is too young. */
  readonly keepMs?: number;
  /** What all files together may take. Left out: no bound but the others. */
  readonly maxBytes?: number;
}

/** All that ever went. */
export type LetGo = Pick<LetGoNote, 'count' | 'files' | 'bytes' | 'from' | 'to'>;

export const nothingWent: LetGo = { count: 0, files: 0, bytes: 0, from: null, to: null };

export interface Plan {
  /** Oldest first. */
  readonly go: readonly KeptFile[];
  /** Whether there is room for one file more. */
  readonly fits: boolean;
}

/** What to let go when the last of these files is full. */
export function planRetention(files: readonly KeptFile[], limits: RetentionLimits, nowMs: number): Plan {
  const most = mostBytes(limits);
  const { keepMs = 0 } = limits;
  let total = limits.maxFileBytes;
  for (const { bytes } of files) total += bytes;
  let gone = 0;
  while (gone < files.length && (files.length + 1 - gone > limits.keepFiles || total > most)) {
    const file = files[gone]!;
    if (nowMs - file.endedMs < keepMs) break;
    total -= file.bytes;
    gone++;
  }
  return { go: files.slice(0, gone), fits: total <= most };
}

/**
 * 1: all of what the journal may take is free, or held by files that may go; 0: young files fill it. It may take no more than
 * the disk has.
 */
export function roomLeft(
  files: readonly KeptFile[],
  limits: RetentionLimits,
  nowMs: number,
  freeBytes: number,
): number {
  const { keepMs = 0 } = limits;
  if (keepMs === 0) return 1;
  let young = 0;
  let all = 0;
  for (const { bytes, endedMs } of files) {
    all += bytes;
    if (nowMs - endedMs < keepMs) young += bytes;
  }
  const most = Math.min(mostBytes(limits), all + freeBytes);
  return most === 0 ? 0 : Math.max(0, 1 - young / most);
}

/** As many files as are kept always fit, and one that is full beside one that is new. */
export function mostBytes({ maxBytes, maxFileBytes, keepFiles }: RetentionLimits): number {
  return Math.max(maxBytes ?? Number.POSITIVE_INFINITY, (Math.max(2, keepFiles) + 1) * maxFileBytes);
}

/** What went before and what goes now. `before` is of an older version where it does not reach up to the first file. */
export function addLetGo(before: LetGo, go: readonly KeptFile[], nextSeq: number): LetGo {
  const [first] = go;
  if (first === undefined) return before;
  const last = go.at(-1)!;
  return {
    // Numbers of records and files begin with 1 and leave none out.
    count: nextSeq - 1,
    files: last.number,
    bytes: go.reduce((sum, { bytes }) => sum + bytes, before.bytes),
    from: first.firstSeq === 1 ? first.firstTime : before.from,
    to: new Date(last.endedMs).toISOString(),
  };
}

export function letGoNote(letGo: LetGo, time: string): LetGoNote {
  const { count, files, from, to } = letGo;
  const since = from === null ? 'the beginning' : from;
  const text = `retention has let go ${files} files with the records 1 to ${count}, from ${since} to ${to ?? time}`;
  return { time, note: 'let-go', text, ...letGo };
}
