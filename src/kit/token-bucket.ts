// A token bucket: so much at once, and so much more as time passes. It bounds what one other side may use of something that
// costs us more than it costs them. The clock must never run backwards. Never shared between processes: for that there are meters.

export interface BucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

export class TokenBucket {
  readonly #rate: BucketRate;
  #left: number;
  #atMs: number;

  /** Full. */
  constructor(rate: BucketRate, nowMs: number) {
    this.#rate = rate;
    this.#left = rate.burst;
    this.#atMs = nowMs;
  }

  /** False: there is not so much left, and nothing is taken. Else who goes on too fast would never get anything again. */
  take(amount: number, nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }

  /** A full one can be forgotten: a new one is worth the same. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#left >= this.#rate.burst;
  }

  #refill(nowMs: number): void {
    const { burst, perSecond } = this.#rate;
    const earned = (Math.max(0, nowMs - this.#atMs) / 1000) * perSecond;
    this.#atMs = Math.max(this.#atMs, nowMs);
    this.#left = Math.min(burst, this.#left + earned);
  }
}
