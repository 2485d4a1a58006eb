// Keeps a flood of refusals by a limit from becoming a flood of records: past so many in a second, of one caller and one
// code, the rest of that second is one record that says how many it stands for. Nothing is left out: every refusal has its
// record or is in the number of one. Everything else is written down one by one, at once.
import type { Journal } from './journal.ts';
import type { RecordBody } from './record.ts';

type Written = Pick<Journal, 'append' | 'healthy' | 'state'>;

export interface CalmJournalOptions {
  readonly journal: Written;
  readonly now?: () => number;
  readonly later?: (act: () => void, ms: number) => { unref(): void };
  /** A record that could not be kept after all. */
  readonly onFailure: (record: RecordBody, error: unknown) => void;
}

/** What a sandbox can be refused by as fast as it can ask. */
const repeating = new Set([
  'limit.rate',
  'limit.concurrent',
  'limit.bytes',
  'limit.pushes',
  'limit.connections',
  'limit.connection-rate',
]);
const writtenOneByOne = 20;
const windowMs = 1000;

interface Window {
  readonly sinceMs: number;
  written: number;
  merged: number;
  last: RecordBody | null;
}

export class CalmJournal implements Written {
  readonly #journal: Written;
  readonly #now: () => number;
  readonly #later: (act: () => void, ms: number) => { unref(): void };
  readonly #onFailure: CalmJournalOptions['onFailure'];
  readonly #windows = new Map<string, Window>();
  #isWaiting = false;

  constructor({ journal, now, later, onFailure }: CalmJournalOptions) {
    this.#journal = journal;
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

  /** Its place in the journal; 0: it will be counted in a record that comes at the end of its second. */
  append(record: RecordBody): number {
    if (record.code === null || !repeating.has(record.code)) return this.#journal.append(record);
    const key = `${record.sandbox ?? ''} ${record.from ?? ''} ${record.code}`;
    const window = this.#windowOf(key);
    if (window.written < writtenOneByOne) {
      window.written++;
      return this.#journal.append(record);
    }
    window.merged++;
    window.last = record;
    this.#wait();
    return 0;
  }

  /** Writes down what was only counted so far: at the end of a second, and before the journal is closed. */
  flush(): void {
    for (const [key, window] of this.#windows) {
      this.#windows.delete(key);
      this.#write(window);
    }
  }

  #windowOf(key: string): Window {
    const nowMs = this.#now();
    const known = this.#windows.get(key);
    if (known !== undefined && nowMs - known.sinceMs < windowMs) return known;
    if (known !== undefined) this.#write(known);
    const begun = { sinceMs: nowMs, written: 0, merged: 0, last: null };
    this.#windows.set(key, begun);
    this.#wait();
    return begun;
  }

  /** One timer for all: it also forgets who is quiet again. */
  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#later(() => {
      this.#isWaiting = false;
      this.flush();
    }, windowMs).unref();
  }

  #write({ merged, last }: Window): void {
    if (last === null) return;
    const times = merged === 1 ? 'this is one refusal' : `this record stands for ${merged} refusals like it`;
    const record = {
      ...last,
      reason: `${last.reason ?? ''} (${times}; those before it in the same second have their own)`,
    };
    try {
      this.#journal.append(record);
    } catch (error) {
      this.#onFailure(record, error);
    }
  }
}
