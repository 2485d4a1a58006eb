// What becomes of a sandbox that goes on asking while a limit refuses it: past so many refusals in a second they are given
// late, and until then its connection is not read from. So a flood costs the gateway a bounded number of refusals a second,
// and those who keep to their limits do not wait behind it. Never delays anybody who was not just refused many times.
import { LRUCache } from 'lru-cache';
import type { Arrived } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';

/** Refusals in one second that are given at once: a client with many requests under way may run into a limit with all. */
const promptRefusals = 20;
/** Of an address or a socket, before it is known who it is: behind one there may be many. */
const promptToCallers = 100;
const maxCallers = 4096;
const windowMs = 1000;
const lateByMs = 1000;
/** How many refusals of one sandbox may wait. With HTTP/2 it can have more requests open; then its connections are closed. */
const maxWaiting = 1024;

interface Flood {
  sinceMs: number;
  refused: number;
  waiting: number;
}

export interface FloodBrakeOptions {
  /** How many refusals in a second are given at once. */
  readonly prompt?: number;
  readonly now?: () => number;
  readonly later?: (act: () => void, ms: number) => void;
}

export class FloodBrake {
  readonly #prompt: number;
  readonly #now: () => number;
  readonly #later: (act: () => void, ms: number) => void;
  readonly #floods = new WeakMap<object, Flood>();

  constructor({ prompt, now, later }: FloodBrakeOptions = {}) {
    this.#prompt = prompt ?? promptRefusals;
    this.#now = now ?? (() => performance.now());
    this.#later = later ?? ((act, ms) => setTimeout(act, ms));
  }

  /** Throws `refusal` now, or returns a promise that will be rejected with it. `who`: one object for each sandbox. */
  refuse(who: object, refusal: Refusal): Promise<never> {
    const pause = this.pause(who, refusal);
    if (pause === null) throw refusal;
    return pause.then(() => {
      throw refusal;
    });
  }

  /** Counts a refusal; null: it is given at once. */
  pause(who: object, refusal: Refusal): Promise<void> | null {
    const flood = this.#floodOf(who);
    if (++flood.refused <= this.#prompt) return null;
    if (flood.waiting >= maxWaiting) {
      // At once, but only once per connection: otherwise a client with enough open requests would never be slowed down.
      refusal.endsConnection = true;
      return null;
    }
    flood.waiting++;
    return new Promise((resolve) => {
      this.#later(() => {
        flood.waiting--;
        resolve();
      }, lateByMs);
    });
  }

  #floodOf(who: object): Flood {
    const nowMs = this.#now();
    const flood = this.#floods.get(who);
    if (flood === undefined) {
      const begun = { sinceMs: nowMs, refused: 0, waiting: 0 };
      this.#floods.set(who, begun);
      return begun;
    }
    // While somebody waits it is the same flood: a second's pause of all connections at once is what braking makes of it.
    if (flood.waiting === 0 && nowMs - flood.sinceMs >= windowMs) {
      flood.sinceMs = nowMs;
      flood.refused = 0;
    }
    return flood;
  }
}

/** How long a refusal waits that comes before anybody is identified, which no limit of a sandbox counts; null: not at all. */
export type BrakeCaller = (flow: Arrived, error: unknown) => Promise<void> | null;

export function createCallerBrake(brake = new FloodBrake({ prompt: promptToCallers })): BrakeCaller {
  const callers = new LRUCache<string, object>({ max: maxCallers });
  return ({ caller, request }, error) => {
    if (!(error instanceof Refusal) || error.status >= 500 || request.kind === 'lookup') return null;
    // After a 400 an HTTP/1.1 connection is closed: new ones are counted by the door.
    if (error.status === 400 && request.protocol === 'http/1.1') return null;
    const key = caller.address ?? `socket ${caller.socketOf}`;
    const who = callers.get(key) ?? {};
    callers.set(key, who);
    return brake.pause(who, error);
  };
}
