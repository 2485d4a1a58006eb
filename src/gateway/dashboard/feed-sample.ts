// Which requests the open pages are shown since the last update: all of a few, or a sample of many that says so. Never keeps
// more lines than a page may be sent, so that a thousand requests a second cost what forty do.
import { type FedRecord, isRefused, lineOf } from './fed-record.ts';
import type { FeedBatch, RequestLine } from './shapes.ts';

/** As many as a person can still read as they fly by, four times a second. */
export const linesPerBatch = 40;
/** Whatever is refused, others are still seen to pass. */
const linesForOthers = 10;

interface Numbered {
  readonly at: number;
  readonly line: RequestLine;
}

export class FeedSample {
  #seen = 0;
  #refused: Numbered[] = [];
  #others: Numbered[] = [];
  /** Its newest, so that a quiet sandbox is not lost beside a loud one. */
  #lastOf = new Map<string, Numbered>();

  /** How many lines it holds. */
  get kept(): number {
    return this.#refused.length + this.#others.length + this.#lastOf.size;
  }

  add(record: FedRecord): void {
    const at = this.#seen++;
    const numbered = { at, line: lineOf(record) };
    keepNewest(isRefused(record) ? this.#refused : this.#others, numbered);
    const sandbox = record.sandbox ?? '';
    if (this.#lastOf.has(sandbox) || this.#lastOf.size < linesPerBatch) this.#lastOf.set(sandbox, numbered);
  }

  /** Null: nothing came. The newest first, as in the list it goes on top of. */
  take(): FeedBatch | null {
    if (this.#seen === 0) return null;
    const seen = this.#seen;
    const chosen = this.#choose();
    this.#seen = 0;
    this.#refused = [];
    this.#others = [];
    this.#lastOf = new Map();
    const lines = chosen.sort((a, b) => b.at - a.at).map(({ line }) => line);
    return { lines, seen, shown: lines.length };
  }

  #choose(): Numbered[] {
    const chosen = new Map<number, Numbered>();
    const take = (numbered: Numbered[], max: number): void => {
      for (const one of numbered) if (chosen.size < max) chosen.set(one.at, one);
    };
    const reserved = Math.min(linesForOthers, this.#others.length);
    take(this.#refused.reverse(), linesPerBatch - reserved);
    take([...this.#lastOf.values()], linesPerBatch);
    take(this.#others.reverse(), linesPerBatch);
    take(this.#refused, linesPerBatch);
    return [...chosen.values()];
  }
}

function keepNewest(kept: Numbered[], one: Numbered): void {
  if (kept.length >= linesPerBatch) kept.shift();
  kept.push(one);
}
