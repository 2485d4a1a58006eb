// How many DNS questions one sandbox, or all strangers together, may ask: a burst, and so many a second after it. What is
// over is told once in a while, not each time, because a flood must not become a flood of records.

export interface DnsAllowance {
  readonly burst: number;
  readonly perSecond: number;
}

export const sandboxAllowance: DnsAllowance = { burst: 200, perSecond: 100 };
/** They learn nothing; this many are told so, and written down. */
export const strangerAllowance: DnsAllowance = { burst: 50, perSecond: 10 };
const noticeEveryMs = 60_000;

export class DnsRate {
  readonly #onFlood: () => void;
  readonly #nowMs: () => number;
  readonly #allowance: DnsAllowance;
  #tokens: number;
  #filledMs: number;
  #noticeAfterMs = Number.NEGATIVE_INFINITY;

  constructor(
    onFlood: () => void,
    nowMs: () => number = () => performance.now(),
    allowance: DnsAllowance = sandboxAllowance,
  ) {
    this.#onFlood = onFlood;
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
    if (nowMs >= this.#noticeAfterMs) {
      this.#noticeAfterMs = nowMs + noticeEveryMs;
      this.#onFlood();
    }
    return false;
  }
}
