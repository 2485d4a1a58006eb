// So much at once, and so much more as time passes: what one connection may use of something that costs us more than it
// costs the other side. By a clock that never runs backwards. Never shared between connections: those have meters.

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

  /** False: there is not so much left. */
  use(amount: number, nowMs: number): boolean {
    const earned = (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#atMs = Math.max(this.#atMs, nowMs);
    this.#left = Math.min(this.#burst, this.#left + earned) - amount;
    return this.#left >= 0;
  }
}
