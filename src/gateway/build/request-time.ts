// Limits the time of a whole request, from its head to the end of its answer, tunnels and upgraded connections included.
// Only says when the time is over; answering and recording are up to the code that serves the request.

import type { Perishable, Sweeper } from '../../kit/sweeper.ts';
import { Refusal } from '../../path/refusal.ts';

export interface RequestClock {
  /** False: the time was over, and that has been said. */
  stop(): boolean;
}

export class RequestTime {
  readonly #sweeper: Sweeper;
  readonly #limitMs: () => number;

  constructor(sweeper: Sweeper, limitMs: () => number) {
    this.#sweeper = sweeper;
    this.#limitMs = limitMs;
  }

  /** Null: there is no limit. `heldMs`: for how long it has waited for a person, which is not its own time. */
  start(onOver: (refusal: Refusal) => void, heldMs: () => number = () => 0): RequestClock | null {
    const limitMs = this.#limitMs();
    if (limitMs === 0) return null;
    const sweeper = this.#sweeper;
    let isOver = false;
    const endsMs = performance.now() + limitMs;
    const clock: Perishable = {
      deadlineMs: endsMs,
      expire: () => {
        clock.deadlineMs = endsMs + heldMs();
        if (clock.deadlineMs > sweeper.nowMs) return;
        sweeper.leave(clock);
        isOver = true;
        onOver(overtime(limitMs));
      },
    };
    sweeper.join(clock);
    return {
      stop: () => {
        sweeper.leave(clock);
        return !isOver;
      },
    };
  }
}

function overtime(limitMs: number): Refusal {
  return new Refusal('limit.request-time', `the request was not over after ${limitMs} ms`, {
    rule: 'limits.request_timeout_ms',
    hint: 'Ask for less at a time, or ask the operator to raise limits.request_timeout_ms.',
  });
}
