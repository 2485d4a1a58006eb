// Look-ups of names, a few at a time. The system's resolver keeps a thread busy for each, for as long as a name server likes,
// and there are few threads: so each sandbox has some of them at most and a queue of its own, and one whose names are slow keeps
// no other waiting. Whoever asks for a name that is being looked up shares the answer. Never remembers one.
import { type AddressLookup, LookupTooSlow, type UpstreamAddress } from './find-upstream.ts';

type Addresses = readonly UpstreamAddress[];

interface Waiting {
  readonly host: string;
  readonly begin: (found: Promise<Addresses>) => void;
}

interface Caller {
  running: number;
  readonly queue: Set<Waiting>;
}

/** libuv gives look-ups half of its threads, four unless the environment says more (`UV_THREADPOOL_SIZE`). */
export function lookupThreads(env: NodeJS.ProcessEnv = process.env): number {
  const threads = Number(env.UV_THREADPOOL_SIZE);
  return Math.floor((Math.min(1024, Math.max(1, Math.floor(threads) || 4)) + 1) / 2);
}

export class FairLookups {
  readonly #lookup: AddressLookup;
  readonly #atOnce: number;
  readonly #atOncePerCaller: number;
  /** By name. Each has a thread until it ends, also when nobody waits for it any more. */
  readonly #underway = new Map<string, Promise<Addresses>>();
  /** In the order in which they are served next. */
  readonly #callers = new Map<string, Caller>();

  constructor(lookup: AddressLookup, atOnce = lookupThreads()) {
    this.#lookup = lookup;
    this.#atOnce = atOnce;
    this.#atOncePerCaller = Math.max(1, Math.floor(atOnce / 4));
  }

  /** How many names wait for a thread. */
  get queued(): number {
    let count = 0;
    for (const { queue } of this.#callers.values()) count += queue.size;
    return count;
  }

  /** Rejects with LookupTooSlow after `timeoutMs`; what has begun then ends by itself some time. */
  find(host: string, caller: string, timeoutMs: number): Promise<Addresses> {
    return new Promise((resolve, reject) => {
      let begun = false;
      const waiting: Waiting = {
        host,
        begin: (found) => {
          begun = true;
          found.then(resolve, reject).finally(() => clearTimeout(timer));
        },
      };
      const timer = setTimeout(() => {
        this.#takeBack(caller, waiting);
        reject(new LookupTooSlow(timeoutMs, begun));
      }, timeoutMs);
      const underway = this.#underway.get(host);
      if (underway !== undefined) return waiting.begin(underway);
      this.#callerOf(caller).queue.add(waiting);
      this.#serve();
    });
  }

  #callerOf(name: string): Caller {
    let caller = this.#callers.get(name);
    if (caller === undefined) {
      caller = { running: 0, queue: new Set() };
      this.#callers.set(name, caller);
    }
    return caller;
  }

  #takeBack(name: string, waiting: Waiting): void {
    const caller = this.#callers.get(name);
    if (caller?.queue.delete(waiting)) this.#forgetIdle(name, caller);
  }

  /** One name for each caller in turn, until the threads are busy or everybody has what they may. */
  #serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [name, caller] of [...this.#callers]) {
        if (this.#underway.size >= this.#atOnce) return;
        if (this.#serveOne(name, caller)) served = true;
      }
    }
  }

  #serveOne(name: string, caller: Caller): boolean {
    const [next] = caller.queue;
    if (next === undefined) return false;
    const found = this.#underway.get(next.host) ?? this.#begin(next.host, name, caller);
    if (found === null) return false;
    caller.queue.delete(next);
    next.begin(found);
    this.#forgetIdle(name, caller);
    return true;
  }

  /** Null: it has as many as it may. */
  #begin(host: string, name: string, caller: Caller): Promise<Addresses> | null {
    if (caller.running >= this.#atOncePerCaller) return null;
    caller.running++;
    const found = this.#lookup(host);
    this.#underway.set(host, found);
    const ended = (): void => {
      this.#underway.delete(host);
      caller.running--;
      // This sandbox had its turn: those that still wait for one come first.
      this.#callers.delete(name);
      if (caller.running > 0 || caller.queue.size > 0) this.#callers.set(name, caller);
      this.#serve();
    };
    found.then(ended, ended);
    return found;
  }

  #forgetIdle(name: string, caller: Caller): void {
    if (caller.running === 0 && caller.queue.size === 0) this.#callers.delete(name);
  }
}
