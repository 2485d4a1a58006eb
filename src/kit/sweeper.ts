// Deadlines for many connections with one timer: everything with a deadline joins and is checked once a second. Setting a
// deadline only writes a number, so the hot path pays nothing.

export interface Perishable {
  /** Milliseconds of `sweeper.nowMs`; Infinity: never. */
  deadlineMs: number;
  expire(): void;
}

export class Sweeper {
  /** A clock that is at most one sweep old: cheap enough to read for every buffer. */
  nowMs = performance.now();
  readonly #members = new Set<Perishable>();
  readonly #timer: NodeJS.Timeout;
  readonly #everyMs: number;

  constructor(everyMs = 500) {
    this.#everyMs = everyMs;
    this.#timer = setInterval(() => this.sweep(), everyMs);
    this.#timer.unref();
  }

  /** For `deadlineMs`: so long from now, and never sooner, however old the clock is. */
  deadlineIn(ms: number): number {
    return this.nowMs + this.#everyMs + ms;
  }

  join(member: Perishable): void {
    this.#members.add(member);
  }

  leave(member: Perishable): void {
    this.#members.delete(member);
  }

  sweep(): void {
    this.nowMs = performance.now();
    for (const member of this.#members) if (member.deadlineMs <= this.nowMs) member.expire();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
