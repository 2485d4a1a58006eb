// Reads the whole journal and says whether the chain holds, or where it first breaks and how. A pure reader: it
// changes nothing and works while a gateway is appending, because the head is never ahead of the files.
// Who rewrote every line after the change, and the head too, is seen where a record in between was signed by a key that the
// reader knows; without one, keep hashes elsewhere.
import {
  findGap,
  genesis,
  type Head,
  hashLine,
  isMissing,
  type JournalFile,
  listJournalFiles,
  type NotedWorker,
  readHead,
  readLetGo,
  readLink,
  readNotedWorker,
  readNoteKind,
  readTime,
} from './journal-files.ts';
import { LineReader, LineTooLongError } from './line-reader.ts';
import type { LetGo } from './retention.ts';
import { readSignatures, type SignedHead } from './signatures.ts';

export type BreakKind =
  | 'edited'
  | 'removed'
  | 'swapped'
  | 'duplicated'
  | 'truncated'
  | 'missing-file'
  | 'head'
  | 'signature';

export interface Intact {
  readonly ok: true;
  readonly records: number;
  readonly files: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly hash: string;
  /** Records the head does not vouch for yet: written in the last moment, or just before a crash. */
  readonly aheadOfHead: number;
  /** Bytes of a last line that is being written, or that a crash cut short. */
  readonly tornBytes: number;
  /** What is no longer there because retention let it go; null: the journal is whole from its first record on. */
  readonly letGo: GoneRecords | null;
  /** Records that could not be kept while the disk took none, as the notes among these say. */
  readonly lost: number;
  /** The last record that each key has signed, oldest first; empty: none that is still there was signed. */
  readonly signed: readonly SignedHead[];
}

/** By retention. */
export interface GoneRecords {
  readonly records: number;
  readonly files: number;
  /** Null: an older version let them go, which noted only that they are gone. */
  readonly bytes: number | null;
  readonly from: string | null;
  readonly to: string | null;
  /** A record of the chain says that they went. Otherwise the head file alone does, which anybody can write who can delete. */
  readonly chained: boolean;
}

export interface Broken {
  readonly ok: false;
  readonly kind: BreakKind;
  readonly file: string | null;
  readonly line: number | null;
  readonly seq: number | null;
  readonly message: string;
  /** Records that hold together before the break. */
  readonly records: number;
}

export type Verification = Intact | Broken;

/** A journal of small files may turn to a new one under every look; it cannot do so for ever while it is also read. */
const maxAttempts = 40;

/** A record that something else than this journal remembers, and what the reader is told when it is not there. */
export interface Pinned {
  readonly seq: number;
  readonly hash: string;
  readonly missing: string;
}

/** One chain, with what it says about the journals of workers. */
export interface FollowedChain {
  readonly found: Verification;
  readonly noted: readonly NotedWorker[];
}

export async function verifyJournal(directory: string): Promise<Verification> {
  return (await followChain(directory)).found;
}

/** `pinned` must have been written before this is called. */
export async function followChain(directory: string, pinned: readonly Pinned[] = []): Promise<FollowedChain> {
  for (let attempt = 1; ; attempt++) {
    // The head and what was signed before the files: whatever they name is then already in them.
    const head = readHead(directory);
    const signatures = readSignatures(directory);
    let result: Verification | null = null;
    const noted: NotedWorker[] = [];
    try {
      const known = { signed: signatures.ok ? signatures.heads : [], pinned, noted };
      result = signatures.ok
        ? await walk(head, listJournalFiles(directory), known)
        : { ...broken('signature', null, 0, signatures.message), file: 'signatures', line: signatures.line };
    } catch (error) {
      if (!isMissing(error) || attempt === maxAttempts) throw error;
    }
    if (result?.ok === true) return { found: result, noted };
    // A gateway that rotates meanwhile takes old files away under our eyes: only a still picture is evidence.
    const still = JSON.stringify(readHead(directory)) === JSON.stringify(head);
    if (result !== null && (still || attempt === maxAttempts)) return { found: result, noted };
  }
}

interface JournalPlace {
  readonly file: string;
  readonly line: number;
  readonly seq: number;
  readonly prev: string;
  readonly hash: string;
  /** When it began; null: it does not say. */
  readonly time: string | null;
  readonly letGo: LetGo | null;
  /** Records that it says were lost. */
  readonly lost: number;
  readonly worker: NotedWorker | null;
}

/** What is known of a chain beside it, and where what it says of others is put. */
interface Known {
  readonly signed: readonly SignedHead[];
  readonly pinned: readonly Pinned[];
  readonly noted: NotedWorker[];
}

type Places = AsyncGenerator<JournalPlace, number>;

async function walk(
  head: Head | null | 'unreadable',
  files: readonly JournalFile[],
  known: Known,
): Promise<Verification> {
  const { signed, pinned } = known;
  if (head === 'unreadable') return broken('head', null, 0, 'the head file is not readable as a head: it was edited');
  if (head === null) {
    if (files.length > 0)
      return broken('head', null, 0, 'the head file is missing or empty, so a cut end could not be seen');
    if (signed.length > 0) return cutAfterSigning(signed[0]!, null, 0);
    const lacking = pinned.find(({ seq }) => seq > 0);
    if (lacking !== undefined) return cutAfterPin(lacking, null, 0);
    return {
      ok: true,
      records: 0,
      files: 0,
      firstSeq: 0,
      lastSeq: 0,
      hash: genesis,
      aheadOfHead: 0,
      tornBytes: 0,
      letGo: null,
      lost: 0,
      signed: [],
    };
  }
  const gap = findGap(files);
  const lines = readPlaces(gap === null ? files : files.filter((file) => file.number < gap));
  try {
    return await follow(head, files, gap, lines, known);
  } finally {
    // Closes the file that is being read when a break ends the walk early.
    await lines.return(0);
  }
}

async function follow(
  head: Head,
  files: readonly JournalFile[],
  gap: number | null,
  lines: Places,
  { signed, pinned, noted }: Known,
): Promise<Verification> {
  const pinnedAt = new Map(pinned.map((one) => [one.seq, one]));
  const signedAt = new Map(signed.map((one) => [one.seq, one]));
  let records = 0;
  let letGo: LetGo | null = null;
  let lost = 0;
  let firstTime: string | null = null;
  let last: JournalPlace | null = null;
  let firstSeq = 0;
  let torn = 0;
  for (let step = await lines.next(); ; step = await lines.next()) {
    if (step.done === true) {
      torn = step.value;
      break;
    }
    const place = step.value;
    if (last === null) {
      if (place.seq > head.oldest) return missingStart(head, place);
      if (place.seq === 1 && place.prev !== genesis)
        return broken('edited', place, 0, 'the first record does not begin a chain');
      firstSeq = place.seq;
      firstTime = place.time;
      if (place.seq < 1) return broken('edited', place, 0, 'this line is not a record');
    } else if (place.seq !== last.seq + 1) return outOfOrder(last.seq + 1, place, lines, records);
    else if (place.prev !== last.hash) return wrongHash(last, place, await following(lines), head, records);
    if (place.seq === head.seq && place.hash !== head.hash) {
      const after = await following(lines);
      const kind = after?.prev === place.hash ? 'head' : 'edited';
      return broken(
        kind,
        place,
        records,
        `record ${place.seq} is not the one the head file names: one of the two was edited`,
      );
    }
    const signature = signedAt.get(place.seq);
    if (signature !== undefined && signature.hash !== place.hash) return notAsSigned(place, signature, records);
    const pin = pinnedAt.get(place.seq);
    if (pin !== undefined && pin.hash !== place.hash)
      return broken('edited', place, records, `record ${place.seq} is another: ${pin.missing}`);
    if (place.worker !== null) noted.push(place.worker);
    records++;
    last = place;
    letGo = place.letGo ?? letGo;
    lost += place.lost;
  }
  const lastSeq = last?.seq ?? 0;
  if (gap !== null) {
    const message = `file number ${gap} is missing: the records after ${lastSeq} are gone`;
    return { ok: false, kind: 'missing-file', file: null, line: null, seq: lastSeq + 1, message, records };
  }
  if (lastSeq < head.seq) {
    const message = `the journal ends with record ${lastSeq}, but the head file names record ${head.seq}: the end was cut off`;
    return {
      ok: false,
      kind: 'truncated',
      file: last?.file ?? null,
      line: last?.line ?? null,
      seq: lastSeq + 1,
      message,
      records,
    };
  }
  const beyond = signed.find(({ seq }) => seq > lastSeq);
  if (beyond !== undefined) return cutAfterSigning(beyond, last, records);
  const unpinned = pinned.find(({ seq }) => seq > lastSeq);
  if (unpinned !== undefined) return cutAfterPin(unpinned, last, records);
  // The head is a file that anybody can write who can delete: what the chain says of retention is what counts.
  if (letGo !== null && firstSeq > letGo.count + 1) {
    const message = `the journal begins with record ${firstSeq}, but retention has let go only those up to ${letGo.count}, as the chain says: files are missing`;
    return { ok: false, kind: 'missing-file', file: null, line: null, seq: letGo.count + 1, message, records };
  }
  const hash = last?.hash ?? genesis;
  return {
    ok: true,
    records,
    letGo: firstSeq > 1 ? goneBefore(firstSeq, firstTime, files[0]!.number, letGo) : null,
    lost,
    signed: signed.filter(({ seq }) => seq >= firstSeq),
    files: files.length,
    firstSeq,
    lastSeq,
    hash,
    aheadOfHead: lastSeq - head.seq,
    tornBytes: torn,
  };
}

function notAsSigned(place: JournalPlace, { time }: SignedHead, records: number): Broken {
  const message = `record ${place.seq} is not the one that was signed at ${time}: what is before it was rewritten, or the signature is of another journal`;
  return broken('signature', place, records, message);
}

function cutAfterSigning({ seq, time }: SignedHead, last: JournalPlace | null, records: number): Broken {
  const message = `the journal ends with record ${last?.seq ?? 0}, but record ${seq} was signed at ${time}: the end was cut off`;
  return { ...broken('truncated', last, records, message), seq: (last?.seq ?? 0) + 1 };
}

function cutAfterPin({ missing }: Pinned, last: JournalPlace | null, records: number): Broken {
  const message = `the journal ends with record ${last?.seq ?? 0}: ${missing}`;
  return { ...broken('truncated', last, records, message), seq: (last?.seq ?? 0) + 1 };
}

function goneBefore(firstSeq: number, firstTime: string | null, firstFile: number, letGo: LetGo | null): GoneRecords {
  const gone = { records: firstSeq - 1, files: firstFile - 1 };
  if (letGo === null) return { ...gone, bytes: null, from: null, to: firstTime, chained: false };
  const { bytes, from, to } = letGo;
  // Without a beginning some of them went before anybody noted how large they were.
  return { ...gone, bytes: from === null ? null : bytes, from, to, chained: true };
}

/** Every line with its place; at the end the bytes after the last whole line. A line that is no record has seq -1. */
async function* readPlaces(files: readonly JournalFile[]): Places {
  let torn = 0;
  let cut: JournalPlace | null = null;
  for (const file of files) {
    let number = 0;
    // Only the last file may end in the middle of a line.
    if (cut !== null) yield cut;
    const reader = await LineReader.open(file.path);
    try {
      for (let lines = await reader.next(); lines !== null; lines = await reader.next()) {
        for (const bytes of lines) {
          number++;
          const link = readLink(bytes);
          if (link === null) yield unreadable(file.name, number);
          else yield placeOf(file.name, number, link, bytes);
        }
      }
      torn = reader.tornBytes;
      cut = torn > 0 ? unreadable(file.name, number + 1) : null;
    } catch (error) {
      if (!(error instanceof LineTooLongError)) throw error;
      yield unreadable(file.name, number + 1);
    } finally {
      await reader.close();
    }
  }
  return torn;
}

function placeOf(
  file: string,
  line: number,
  link: { readonly seq: number; readonly prev: string },
  bytes: Buffer,
): JournalPlace {
  const kind = readNoteKind(bytes);
  return {
    file,
    line,
    seq: link.seq,
    prev: link.prev,
    hash: hashLine(bytes),
    time: readTime(bytes),
    letGo: kind === 'let-go' ? readLetGo(bytes) : null,
    lost: kind === 'lost' ? readCount(bytes) : 0,
    worker: kind === 'worker' ? readNotedWorker(bytes) : null,
  };
}

function readCount(bytes: Buffer): number {
  const count = Number(/"count":(\d{1,15})[,}]/.exec(bytes.toString('latin1'))?.[1] ?? 0);
  return Number.isSafeInteger(count) ? count : 0;
}

function unreadable(file: string, line: number): JournalPlace {
  return { file, line, seq: -1, prev: '', hash: '', time: null, letGo: null, lost: 0, worker: null };
}

function missingStart(head: Head, place: JournalPlace): Broken {
  const message = `the journal begins with record ${place.seq}, but retention has kept everything from record ${head.oldest} on: the file that held them is missing, or its beginning was cut off`;
  return { ...broken('missing-file', place, 0, message), seq: head.oldest };
}

/** Another number than the next one: what lies further on tells a swap from a removal from an edited number. */
async function outOfOrder(expected: number, place: JournalPlace, rest: Places, records: number): Promise<Broken> {
  const at = (kind: BreakKind, message: string): Broken => ({
    ...broken(kind, place, records, message),
    seq: expected,
  });
  if (place.seq < 0) return at('edited', `where record ${expected} should be, this line is not a record`);
  const next = await following(rest);
  if (place.seq > expected) {
    for (let later = next; later !== null; later = await following(rest)) {
      if (later.seq !== expected) continue;
      return at('swapped', `record ${place.seq} stands where record ${expected} should, which comes later`);
    }
  }
  if (next?.seq === expected + 1) return at('edited', `record ${expected} carries the number ${place.seq}`);
  if (place.seq < expected) return broken('duplicated', place, records, `record ${place.seq} comes a second time`);
  return at('removed', `record ${expected} is missing: record ${place.seq} stands in its place`);
}

/** Two neighbours that do not fit: the one whose hash the record after it confirms is the one left alone. */
function wrongHash(
  last: JournalPlace,
  place: JournalPlace,
  next: JournalPlace | null,
  head: Head,
  records: number,
): Broken {
  const confirmed = next !== null ? next.prev : head.seq === place.seq ? head.hash : place.hash;
  if (confirmed !== place.hash) {
    return broken(
      'edited',
      place,
      records,
      `record ${place.seq} fits neither the record before it nor what comes after`,
    );
  }
  return broken(
    'edited',
    last,
    records - 1,
    `record ${last.seq} does not have the hash that record ${place.seq} remembers of it`,
  );
}

async function following(rest: Places): Promise<JournalPlace | null> {
  const step = await rest.next();
  return step.done === true ? null : step.value;
}

function broken(kind: BreakKind, place: JournalPlace | null, records: number, message: string): Broken {
  const seq = place === null || place.seq < 0 ? null : place.seq;
  return { ok: false, kind, file: place?.file ?? null, line: place?.line ?? null, seq, message, records };
}
