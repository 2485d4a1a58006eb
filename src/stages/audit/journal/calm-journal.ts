// Keeps a flood of refusals from becoming a flood of records, and one sandbox from filling the journal of all. A
// served request always gets its own record at once. Of refusals with the same caller and code, the first few get their own
// records and the rest share one, with their number. A caller that has used its share of the journal gets one note for all
// refusals of a minute. Nothing is left out: every refusal has a record or is counted in one.
import { randomInt } from 'node:crypto';
import { TokenBucket } from '../../../kit/token-bucket.ts';
import { beginning } from './cap-text.ts';
import { encodeLine } from './encode-line.ts';
import type { Journal } from './journal.ts';
import type { JournalShares } from './journal-shares.ts';
import type { Merged, NoteBody, RecordBody } from './record.ts';

type Written = Pick<Journal, 'append' | 'healthy' | 'state'>;

export interface CalmJournalOptions {
  readonly journal: Written & { readonly lastBytes?: number };
  /** Left out: there are no shares, so nobody can use one up. */
  readonly shares?: JournalShares;
  readonly now?: () => number;
  readonly later?: (act: () => void, ms: number) => { unref(): void };
  /** A record that could not be kept after all. */
  readonly onFailure: (record: RecordBody | NoteBody, error: unknown) => void;
}

/** How many refusals of one code get their own record: a burst, and then a rate per second. */
const ofLimits = { burst: 20, perSecond: 1 };
const ofOthers = { burst: 256, perSecond: 1 };
const tickMs = 1000;
/** A flood that goes on is written down ever more seldom. What a killed gateway loses is the count of this long. */
const longestGatheredMs = 10_000;
const condensedMs = 60_000;
/** How many unknown callers are kept apart by address; all further ones count as one caller. */
const maxStrangers = 64;

interface Flood {
  readonly sandbox: string | null;
  readonly isStranger: boolean;
  readonly bucket: TokenBucket;
  gathered: GatheredRefusals;
  everyMs: number;
  dueMs: number;
}

interface Condensed {
  readonly gathered: GatheredRefusals;
  readonly dueMs: number;
}

export class CalmJournal implements Written {
  readonly #journal: CalmJournalOptions['journal'];
  readonly #shares: JournalShares | null;
  readonly #now: () => number;
  readonly #later: (act: () => void, ms: number) => { unref(): void };
  readonly #onFailure: CalmJournalOptions['onFailure'];
  readonly #floods = new Map<string, Flood>();
  readonly #condensed = new Map<string | null, Condensed>();
  #strangers = 0;
  #isWaiting = false;

  constructor({ journal, shares, now, later, onFailure }: CalmJournalOptions) {
    this.#journal = journal;
    this.#shares = shares ?? null;
    this.#now = now ?? (() => performance.now());
    this.#later = later ?? setTimeout;
    this.#onFailure = onFailure;
  }

  get healthy(): boolean {
    return this.#journal.healthy;
  }

  get state(): Written['state'] {
    return this.#journal.state;
  }

  /** Its place in the journal; 0: it will be counted in a record that comes a little later. */
  append(record: RecordBody): number {
    if (wasServed(record)) {
      const seq = this.#journal.append(record);
      if (record.sandbox !== null) this.#shares?.spendServed(record.sandbox, this.#journal.lastBytes ?? 0);
      return seq;
    }
    this.#wait();
    if (this.#shares?.mayWrite(record.sandbox) === false) {
      this.#condense(record.sandbox).add(record, sizeOf(record));
      return 0;
    }
    const flood = this.#floodOf(record);
    if (flood.bucket.take(1, this.#now())) return this.#write(record);
    flood.gathered.add(record);
    return 0;
  }

  /** Writes down what was only counted so far: before the journal is closed. */
  flush(): void {
    this.#writeDue(Number.POSITIVE_INFINITY);
  }

  #floodOf(record: RecordBody): Flood {
    const nowMs = this.#now();
    const key = this.#keyOf(record);
    let flood = this.#floods.get(key);
    if (flood === undefined) {
      const rate = record.code?.startsWith('limit.') === true ? ofLimits : ofOthers;
      const isStranger = record.sandbox === null && record.from !== null && this.#strangers < maxStrangers;
      if (isStranger) this.#strangers++;
      flood = {
        sandbox: record.sandbox,
        isStranger,
        bucket: new TokenBucket(rate, nowMs),
        gathered: new GatheredRefusals(),
        everyMs: tickMs,
        dueMs: nowMs + tickMs,
      };
      this.#floods.set(key, flood);
    }
    return flood;
  }

  /** Refusals about a credential are never gathered together with others. */
  #keyOf({ sandbox, from, code, verdict, incident }: RecordBody): string {
    const what = `${code ?? verdict} ${incident === null ? '' : incident.split(' ', 1)[0]}`;
    if (sandbox !== null) return `${what} of ${sandbox}`;
    const stranger = `${what} from ${from ?? ''}`;
    return this.#floods.has(stranger) || this.#strangers < maxStrangers ? stranger : `${what} from others`;
  }

  #condense(sandbox: string | null): GatheredRefusals {
    let condensed = this.#condensed.get(sandbox);
    if (condensed === undefined) {
      condensed = { gathered: new GatheredRefusals(), dueMs: this.#now() + condensedMs };
      this.#condensed.set(sandbox, condensed);
    }
    return condensed.gathered;
  }

  /** One timer for all: it also forgets who is quiet again. */
  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#later(() => {
      this.#isWaiting = false;
      this.#shares?.sweep();
      this.#writeDue(this.#now());
      if (this.#floods.size > 0 || this.#condensed.size > 0) this.#wait();
    }, tickMs).unref();
  }

  #writeDue(nowMs: number): void {
    for (const [key, flood] of this.#floods) {
      if (flood.dueMs > nowMs) continue;
      const { gathered, sandbox } = flood;
      if (gathered.isEmpty && flood.bucket.isFull(this.#now())) {
        this.#floods.delete(key);
        if (flood.isStranger) this.#strangers--;
        continue;
      }
      flood.everyMs = gathered.isEmpty ? tickMs : Math.min(longestGatheredMs, flood.everyMs * 2);
      flood.dueMs = this.#now() + flood.everyMs;
      if (gathered.isEmpty) continue;
      flood.gathered = new GatheredRefusals();
      if (this.#shares?.mayWrite(sandbox) === false)
        this.#condense(sandbox).addAll(gathered, gathered.count * sizeOf(gathered.last!));
      else this.#tryToWrite(mergedRecord(gathered));
    }
    for (const [sandbox, { gathered, dueMs }] of this.#condensed) {
      if (dueMs > nowMs) continue;
      this.#condensed.delete(sandbox);
      this.#tryToWrite(condensedNote(sandbox, gathered));
    }
  }

  #write(record: RecordBody | NoteBody): number {
    const seq = this.#journal.append(record);
    if (!('note' in record)) this.#shares?.spendRefused(record.sandbox, this.#journal.lastBytes ?? 0);
    return seq;
  }

  #tryToWrite(record: RecordBody | NoteBody): void {
    try {
      this.#write(record);
    } catch (error) {
      this.#onFailure(record, error);
    }
  }
}

/** Whether anything of it may have reached the world outside: then it is evidence of its own, however it ended. */
export function wasServed({
  verdict,
  upstream,
  credential,
}: Pick<RecordBody, 'verdict' | 'upstream' | 'credential'>): boolean {
  return verdict === 'allowed' || upstream !== null || credential !== null;
}

function mergedRecord(gathered: GatheredRefusals): RecordBody {
  const last = gathered.last!;
  const { count } = gathered;
  const times = count === 1 ? 'this is one refusal' : `this record stands for ${count} refusals like it`;
  return {
    ...last,
    reason: `${last.reason ?? ''} (${times}; those before it have their own)`,
    merged: gathered.describe(),
  };
}

function condensedNote(sandbox: string | null, gathered: GatheredRefusals): NoteBody {
  const { count, bytes, codes } = gathered;
  const { first, last, samples } = gathered.describe();
  const who = sandbox === null ? 'callers that nobody knows' : `sandbox ${sandbox}`;
  const text = `the share of ${who} in the journal is used up (audit.sandbox_bytes_per_day): ${count} refusals, about ${bytes} bytes, are in this note alone`;
  return { time: last, note: 'condensed', text, count, bytes, sandbox, first, last, codes, samples };
}

/** What it would have taken. */
function sizeOf(record: RecordBody): number {
  return Buffer.byteLength(encodeLine(0, '', record)) + 80;
}

// Refusals that are written down together: how many, when the first and the last came, and a bounded sample of what they
// asked for. The sample is drawn at random, so that nobody can hide one refusal behind many others.
/** The first few as they came, then as many that were drawn from all others. */
const firstSamples = 4;
const drawnSamples = 4;
const sampleBytes = 160;
/** So many codes by name; there are no more than a hundred. */
const maxCodes = 128;

class GatheredRefusals {
  count = 0;
  bytes = 0;
  last: RecordBody | null = null;
  readonly #codes = new Map<string, number>();
  readonly #samples: string[] = [];
  #first = '';

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get codes(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#codes);
  }

  add(record: RecordBody, bytes = 0): void {
    if (this.count === 0) this.#first = record.time;
    this.count++;
    this.bytes += bytes;
    this.last = record;
    this.#countCode(record.code ?? record.verdict, 1);
    if (this.#samples.length < firstSamples + drawnSamples) {
      const sample = sampleOf(record);
      if (!this.#samples.includes(sample)) this.#samples.push(sample);
      return;
    }
    const place = randomInt(this.count);
    if (place < drawnSamples) this.#samples[firstSamples + place] = sampleOf(record);
  }

  /** Takes over all that others have gathered. */
  addAll(other: GatheredRefusals, bytes: number): void {
    if (other.last === null) return;
    if (this.count === 0) this.#first = other.#first;
    this.count += other.count;
    this.bytes += bytes;
    this.last = other.last;
    for (const [code, count] of other.#codes) this.#countCode(code, count);
    for (const sample of other.#samples) {
      if (this.#samples.length < firstSamples + drawnSamples && !this.#samples.includes(sample))
        this.#samples.push(sample);
    }
  }

  describe(): Merged {
    return { count: this.count, first: this.#first, last: this.last?.time ?? this.#first, samples: this.#samples };
  }

  #countCode(code: string, count: number): void {
    const name = this.#codes.has(code) || this.#codes.size < maxCodes ? code : 'other';
    this.#codes.set(name, (this.#codes.get(name) ?? 0) + count);
  }
}

/** A text of its own: it holds on to nothing of the record. */
function sampleOf({ method, host, path, sandbox, from }: RecordBody): string {
  const who = sandbox === null && from !== null ? `${from}: ` : '';
  const asked = `${who}${method} ${host}${path}`;
  const short = beginning(asked, sampleBytes);
  return short.length < asked.length ? `${short}…` : short;
}
