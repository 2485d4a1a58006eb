// A burst, and a rate at which it refills: how much a peer may use of something that costs us more than it costs them. Uses a
// clock that never runs backwards. Never shared between processes: meters are for that.

export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** False: there is not so much left, and nothing is taken. Else who goes on too fast would never get anything again. */
  use(amount: number, nowMs: number): boolean {
    const earned = (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#atMs = Math.max(this.#atMs, nowMs);
    this.#left = Math.min(this.#burst, this.#left + earned);
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }
}
