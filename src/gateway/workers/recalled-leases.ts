// Calls back what workers have leased and do not use, when another worker asks in vain: so that a limit is not only never
// exceeded but can also be used up. Does not wait for a worker that does not answer at once.
import { waitAtMost } from '../../kit/wait-at-most.ts';

export type LeaseKind = 'rate' | 'places';

/** Asks a worker; how much it gave back. Places it has then given back already, tokens are in the answer. */
export type Recall = (key: string, kind: LeaseKind) => Promise<number>;

const answerWithinMs = 100;
/** Who is over a limit asks again and again: in this time there is hardly anything new to call back. */
const pauseMs = 5;
const maxPauses = 4096;

export class RecalledLeases {
  readonly #workers = new Map<object, { readonly recall: Recall; readonly pausedUntilMs: Map<string, number> }>();

  join(worker: object, recall: Recall): void {
    this.#workers.set(worker, { recall, pausedUntilMs: new Map() });
  }

  leave(worker: object): void {
    this.#workers.delete(worker);
  }

  /** Resolves to how much all but `worker` have given back. */
  async fromOthers(worker: object, key: string, kind: LeaseKind): Promise<number> {
    const others = [...this.#workers].filter(([one]) => one !== worker).map(([, other]) => other);
    if (others.length === 0 || !this.#mayAsk(worker, `${kind} ${key}`)) return 0;
    const given = await Promise.all(others.map(({ recall }) => soon(recall(key, kind))));
    return given.reduce((sum, amount) => sum + amount, 0);
  }

  #mayAsk(worker: object, what: string): boolean {
    const paused = this.#workers.get(worker)?.pausedUntilMs;
    const nowMs = performance.now();
    if (paused === undefined || (paused.get(what) ?? 0) > nowMs) return false;
    if (paused.size >= maxPauses) paused.clear();
    paused.set(what, nowMs + pauseMs);
    return true;
  }
}

/** What a worker says it gave is counted only where it is an amount: it would be granted to another. */
async function soon(answer: Promise<number>): Promise<number> {
  const given = await waitAtMost(
    answer.catch(() => 0),
    answerWithinMs,
    () => 0,
  );
  return Number.isFinite(given) && given > 0 ? given : 0;
}
