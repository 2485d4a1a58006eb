// How many DNS questions all unregistered callers together may ask: a burst, then a rate per second. What is over the limit
// is reported once in a while, because a flood of questions must not become a flood of records.

export interface DnsAllowance {
  readonly burst: number;
  readonly perSecond: number;
}

/** Unregistered callers learn nothing. This many of their questions are refused and recorded. */
export const strangerAllowance: DnsAllowance = { burst: 50, perSecond: 10 };
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
  readonly #allowance: DnsAllowance;
  #tokens: number;
  #filledMs: number;
  readonly #notice: Seldom;

  constructor(onFlood: () => void, nowMs: () => number, allowance: DnsAllowance) {
    this.#onFlood = onFlood;
    this.#notice = new Seldom(nowMs);
    this.#nowMs = nowMs;
    this.#allowance = allowance;
    this.#tokens = allowance.burst;
    this.#filledMs = nowMs();
  }

  /** False: over the rate. */
  take(): boolean {
    const nowMs = this.#nowMs();
    const { burst, perSecond } = this.#allowance;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledMs) * perSecond) / 1000);
    this.#filledMs = nowMs;
    if (this.#tokens >= 1) {
      this.#tokens--;
      return true;
    }
    if (this.#notice.isDue()) this.#onFlood();
    return false;
  }
}
