// Rates and places counted in this process: token buckets, and how many places are taken. Answers at once, always. What is
// full again and unheld is forgotten; what is in debt or held never is, so that forgetting grants nobody anything.
import type { MeterRate, SharedMeters, WaitMs } from '../../path/shared-store.ts';

const fewestToSweep = 1024;
/** A place comes free when somebody lets go of it, which nobody can know in advance. */
export const placeWaitMs = 1000;
/** For a rate of nothing at all. */
const neverWaitMs = 60_000;
/** What adding up fractions may lose. */
const rounding = 1e-9;

interface Bucket {
  tokens: number;
  filledAtMs: number;
  perSecond: number;
  burst: number;
}

export class LocalMeters implements SharedMeters {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  readonly #held = new Map<string, number>();
  #sweepAt = fewestToSweep;

  /** `now`: milliseconds that never run backwards. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size + this.#held.size;
  }

  take(key: string, rate: MeterRate, amount = 1): WaitMs {
    const bucket = this.#filled(key, rate);
    // What is larger than the burst would wait for ever: it passes with a full bucket, and the debt is paid afterwards.
    const needed = Math.min(amount, rate.burst);
    if (bucket.tokens < needed - rounding) return waitFor(needed - bucket.tokens, rate);
    bucket.tokens -= amount;
    return 0;
  }

  takeNow(key: string, rate: MeterRate): WaitMs {
    return this.take(key, rate);
  }

  /** A negative amount gives back what was taken and not used. */
  spend(key: string, rate: MeterRate, amount: number): void {
    const bucket = this.#filled(key, rate);
    bucket.tokens = Math.min(rate.burst, bucket.tokens - amount);
  }

  debtMs(key: string, rate: MeterRate): WaitMs {
    if (!this.#buckets.has(key)) return 0;
    const { tokens } = this.#filled(key, rate);
    return tokens >= -rounding ? 0 : waitFor(-tokens, rate);
  }

  /** What there is to take; less than nothing is a debt. */
  left(key: string, rate: MeterRate): number {
    return this.#buckets.has(key) ? this.#filled(key, rate).tokens : rate.burst;
  }

  hold(key: string, limit: number): WaitMs {
    const held = this.#held.get(key) ?? 0;
    if (held >= limit) return placeWaitMs;
    this.#held.set(key, held + 1);
    return 0;
  }

  release(key: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held > 1) this.#held.set(key, held - 1);
    else this.#held.delete(key);
  }

  /** With what time has brought, at the rate that is in force now. */
  #filled(key: string, rate: MeterRate): Bucket {
    const nowMs = this.#now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return this.#fresh(key, rate, nowMs);
    const gained = (Math.max(0, nowMs - bucket.filledAtMs) * rate.perSecond) / 1000;
    bucket.tokens = Math.min(rate.burst, bucket.tokens + gained);
    bucket.filledAtMs = nowMs;
    bucket.perSecond = rate.perSecond;
    bucket.burst = rate.burst;
    return bucket;
  }

  #fresh(key: string, rate: MeterRate, nowMs: number): Bucket {
    if (this.#buckets.size >= this.#sweepAt) this.#sweep(nowMs);
    const bucket = { tokens: rate.burst, filledAtMs: nowMs, perSecond: rate.perSecond, burst: rate.burst };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** Each time twice as many as were left have come: so that sweeping costs each new key the same. */
  #sweep(nowMs: number): void {
    for (const [key, { tokens, filledAtMs, perSecond, burst }] of this.#buckets) {
      if (tokens + ((nowMs - filledAtMs) * perSecond) / 1000 >= burst) this.#buckets.delete(key);
    }
    this.#sweepAt = Math.max(fewestToSweep, this.#buckets.size * 2);
  }
}

function waitFor(missing: number, { perSecond }: MeterRate): WaitMs {
  return perSecond > 0 ? Math.max(1, Math.ceil((missing * 1000) / perSecond - 1e-6)) : neverWaitMs;
}
