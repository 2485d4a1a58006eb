// How many DNS questions all unregistered callers together may ask: a burst, then a rate per second. What is over the limit
// is reported once in a while, because a flood of questions must not become a flood of records.
import { type BucketRate, TokenBucket } from '../../../kit/token-bucket.ts';

/** Unregistered callers learn nothing. This many of their questions are refused and recorded. */
export const strangerRate: BucketRate = { burst: 50, perSecond: 10 };
const noticeEveryMs = 60_000;

/** Says when it is time to tell of something again. */
export class Seldom {
  readonly #nowMs: () => number;
  #afterMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  isDue(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs < this.#afterMs) return false;
    this.#afterMs = nowMs + noticeEveryMs;
    return true;
  }
}

export class DnsRate {
  readonly #onFlood: () => void;
  readonly #nowMs: () => number;
  readonly #bucket: TokenBucket;
  readonly #notice: Seldom;

  constructor(onFlood: () => void, nowMs: () => number, rate: BucketRate) {
    this.#onFlood = onFlood;
    this.#notice = new Seldom(nowMs);
    this.#nowMs = nowMs;
    this.#bucket = new TokenBucket(rate, nowMs());
  }

  /** False: over the rate. */
  take(): boolean {
    if (this.#bucket.take(1, this.#nowMs())) return true;
    if (this.#notice.isDue()) this.#onFlood();
    return false;
  }
}
