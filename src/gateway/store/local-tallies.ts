// Sums of a period, kept in this process: gone when their time is over, and with the process. Never forgets one early as
// long as there are fewer than a number no gateway comes to; past it the oldest go, so that memory has an end.
import type { SharedTallies } from '../../path/shared-store.ts';

const mostKept = 200_000;
const fewestToSweep = 1024;

interface Tally {
  sum: number;
  untilMs: number;
}

export class LocalTallies implements SharedTallies {
  readonly #now: () => number;
  readonly #tallies = new Map<string, Tally>();
  #sweepAt = fewestToSweep;

  /** `now`: milliseconds that never run backwards. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#tallies.size;
  }

  add(key: string, amount: number, keepMs: number): void {
    const nowMs = this.#now();
    const tally = this.#tallies.get(key);
    if (tally !== undefined && tally.untilMs > nowMs) {
      tally.sum += amount;
      tally.untilMs = Math.max(tally.untilMs, nowMs + keepMs);
      return;
    }
    if (this.#tallies.size >= this.#sweepAt) this.#sweep(nowMs);
    this.#tallies.set(key, { sum: amount, untilMs: nowMs + keepMs });
  }

  recall(key: string, amount: number, keepMs: number): void {
    this.add(key, amount, keepMs);
  }

  total(key: string): number {
    const tally = this.#tallies.get(key);
    return tally === undefined || tally.untilMs <= this.#now() ? 0 : tally.sum;
  }

  #sweep(nowMs: number): void {
    for (const [key, { untilMs }] of this.#tallies) if (untilMs <= nowMs) this.#tallies.delete(key);
    for (const key of this.#tallies.keys()) {
      if (this.#tallies.size < mostKept) break;
      this.#tallies.delete(key);
    }
    this.#sweepAt = Math.min(mostKept, Math.max(fewestToSweep, this.#tallies.size * 2));
  }
}
