// What the gateway's own journal remembers of the journals of its workers: where each stood when a worker began, every hour
// while it grows, and when it was closed. One that is taken away or rolled back later is missed by `audit verify`.
import type { WorkerJournalState } from './worker-verbs.ts';

export interface NotedJournalsOptions {
  /** Writes it down. May throw: then the journal cannot be written and nothing is served. */
  readonly note: (worker: number, head: { readonly seq: number; readonly hash: string }, why: string) => void;
  readonly now?: () => number;
}

const everyMs = 3_600_000;

export class NotedJournals {
  readonly #note: NotedJournalsOptions['note'];
  readonly #now: () => number;
  readonly #lives = new WeakMap<object, { seq: number; atMs: number; closed: boolean }>();

  constructor({ note, now }: NotedJournalsOptions) {
    this.#note = note;
    this.#now = now ?? (() => performance.now());
  }

  /** `life`: one process of this worker. */
  heard(life: object, worker: number, { head, closed }: WorkerJournalState): void {
    if (head === null) return;
    const before = this.#lives.get(life);
    const atMs = this.#now();
    const isDue = before === undefined || (closed ? !before.closed : atMs - before.atMs >= everyMs);
    if (!isDue) return;
    this.#lives.set(life, { seq: head.seq, atMs, closed });
    if (before?.seq === head.seq) return;
    this.#note(worker, head, before === undefined ? 'begins' : closed ? 'is closed' : 'stands');
  }
}
