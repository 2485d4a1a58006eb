// The journal for people: the last records that fit a question, in the order in which they happened, and then, if
// asked, every further one as it is written. Reads the files alone, so it never slows the path down.
import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing, type JournalFile, journalFile, listJournalFiles } from './journal-files.ts';
import { journalDirectories } from './journal-parts.ts';
import { LineReader, readLinesBackwards } from './line-reader.ts';
import type { AuditNote, AuditRecord } from './record.ts';

export interface JournalQuery {
  readonly sandbox?: string | null;
  /** Only what was refused. */
  readonly refusedOnly?: boolean;
  /** How many of the last records that fit; default 100. */
  readonly limit?: number;
  /** Then wait for more until the signal, or until the reader stops. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
  readonly pollMs?: number;
}

export type JournalEntry = AuditRecord | AuditNote;

/** Of all the journals of a gateway: its own, and those of its workers. */
export async function* readJournal(directory: string, query: JournalQuery = {}): AsyncGenerator<JournalEntry> {
  const limit = Math.max(0, query.limit ?? 100);
  const read = await Promise.all(journalDirectories(directory).map((one) => readLast(one, query, limit)));
  // The first alone is not sorted: within one journal the order is that of the chain.
  const found = read.length === 1 ? read[0]!.found : read.flatMap((one) => one.found).sort(byTime);
  yield* found.slice(Math.max(0, found.length - limit));
  if (query.follow !== true) return;
  if (read.length === 1) yield* follow(directory, read[0]!.from, query);
  else yield* followAll(read, query);
}

interface ReadSoFar {
  readonly directory: string;
  /** The last that fit, in their order. */
  readonly found: readonly JournalEntry[];
  readonly from: FollowFrom | null;
}

interface FollowFrom {
  readonly file: JournalFile;
  readonly position: number;
}

async function readLast(directory: string, query: JournalQuery, limit: number): Promise<ReadSoFar> {
  const found: JournalEntry[] = [];
  // Where following goes on: the end of the last whole line that was there when we looked.
  let from: FollowFrom | null = null;
  for (const file of listJournalFiles(directory).reverse()) {
    if (from !== null && found.length >= limit) break;
    let position = 0;
    try {
      for await (const { line, end } of readLinesBackwards(file.path)) {
        position ||= end;
        if (found.length >= limit) break;
        const entry = parse(line);
        if (entry !== null && fits(entry, query)) found.push(entry);
      }
    } catch (error) {
      // Retention was quicker: what is older is gone too.
      if (isMissing(error)) break;
      throw error;
    }
    from ??= { file, position };
  }
  return { directory, found: found.reverse(), from };
}

function byTime(a: JournalEntry, b: JournalEntry): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}

/** Each as it comes. When the reader stops, all of them do. */
async function* followAll(read: readonly ReadSoFar[], query: JournalQuery): AsyncGenerator<JournalEntry> {
  const stop = new AbortController();
  const signal = query.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, query.signal]);
  const streams = read.map(({ directory, from }) => follow(directory, from, { ...query, signal }));
  const next = new Map(streams.map((stream) => [stream, nextOf(stream)]));
  try {
    while (next.size > 0) {
      const { stream, step } = await Promise.race(next.values());
      if (step.done === true) next.delete(stream);
      else {
        yield step.value;
        next.set(stream, nextOf(stream));
      }
    }
  } finally {
    stop.abort();
    await Promise.allSettled(next.values());
  }
}

async function nextOf(stream: AsyncGenerator<JournalEntry>): Promise<{
  readonly stream: AsyncGenerator<JournalEntry>;
  readonly step: IteratorResult<JournalEntry>;
}> {
  return { stream, step: await stream.next() };
}

async function* follow(directory: string, from: FollowFrom | null, query: JournalQuery): AsyncGenerator<JournalEntry> {
  let file = from?.file ?? journalFile(directory, 1);
  let reader = await openWhenThere(file.path, from?.position ?? 0, query);
  try {
    while (reader !== null && query.signal?.aborted !== true) {
      // Asked before the file is read to its end: once there is a next file, nothing is added to this one.
      const later = listJournalFiles(directory).find((other) => other.number > file.number);
      for (let lines = await reader.next(); lines !== null; lines = await reader.next()) {
        for (const line of lines) {
          const entry = parse(line);
          if (entry !== null && fits(entry, query)) yield entry;
        }
      }
      if (later === undefined) await pause(query);
      else {
        await reader.close();
        file = later;
        reader = await openWhenThere(file.path, 0, query);
      }
    }
  } finally {
    await reader?.close();
  }
}

async function openWhenThere(path: string, position: number, query: JournalQuery): Promise<LineReader | null> {
  while (query.signal?.aborted !== true) {
    try {
      return await LineReader.open(path, position);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    await pause(query);
  }
  return null;
}

async function pause(query: JournalQuery): Promise<void> {
  try {
    await sleep(query.pollMs ?? 200, undefined, query.signal === undefined ? {} : { signal: query.signal });
  } catch (error) {
    if (query.signal?.aborted !== true) throw error;
  }
}

/** A line that someone spoilt is `verify`'s business; a reader goes on with the next. */
function parse(line: Buffer): JournalEntry | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null && 'seq' in value ? (value as JournalEntry) : null;
  } catch {
    return null;
  }
}

/** What people answered, or what was counted together, is about one sandbox; what the journal says of itself is about none. */
function isNoteFor(note: AuditNote, sandbox: string | null): boolean {
  return sandbox === null || ('sandbox' in note && note.sandbox === sandbox);
}

function fits(entry: JournalEntry, query: JournalQuery): boolean {
  if ('note' in entry)
    return (query.refusedOnly !== true || entry.note === 'condensed') && isNoteFor(entry, query.sandbox ?? null);
  if ((query.sandbox ?? null) !== null && entry.sandbox !== query.sandbox) return false;
  return query.refusedOnly !== true || entry.verdict === 'refused';
}
