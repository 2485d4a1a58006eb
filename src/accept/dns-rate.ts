// How many DNS questions one sandbox may ask: a burst, and so many a second after it. What is over is told once in a
// while, not each time, because a flood must not become a flood of records.

const burst = 200;
const perSecond = 100;
const noticeEveryMs = 60_000;

export class DnsRate {
  readonly #onFlood: () => void;
  readonly #nowMs: () => number;
  #tokens = burst;
  #filledMs: number;
  #noticeAfterMs = Number.NEGATIVE_INFINITY;

  constructor(onFlood: () => void, nowMs: () => number = () => performance.now()) {
    this.#onFlood = onFlood;
    this.#nowMs = nowMs;
    this.#filledMs = nowMs();
  }

  /** False: over the rate. */
  take(): boolean {
    const nowMs = this.#nowMs();
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
