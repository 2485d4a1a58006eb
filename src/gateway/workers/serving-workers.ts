// The workers that serve, as they were last heard of: what they have open, and whether they are still there. One that has
// said nothing for long is ended: stopped or caught in something, it serves nobody and holds what others could use.
import type { ForkedWorker } from './fork-worker.ts';
import type { Taker } from './private-sockets.ts';
import type { Beat, WorkerJournalState } from './worker-verbs.ts';

type Life = Pick<ForkedWorker, 'channel' | 'handing' | 'kill' | 'pid'>;

interface Serving extends Taker {
  openConnections: number;
  openCircuits: number;
  /** Null: it has not said yet. */
  journal: WorkerJournalState | null;
  /** How often it was looked at since it last said that it is there. */
  silentLooks: number;
}

/** Looked at, not timed: when this very process was stopped, its workers were not silent. */
const lookEveryMs = 1_000;
const silentLooksAllowed = 30;

export class ServingWorkers {
  readonly #serving = new Map<Life, Serving>();
  readonly #onSilent: (life: Life) => void;
  readonly #timer = setInterval(() => this.look(), lookEveryMs).unref();

  /** `onSilent` hears of it just before it is ended. */
  constructor(onSilent: (life: Life) => void) {
    this.#onSilent = onSilent;
  }

  get openConnections(): number {
    return this.#sum((one) => one.openConnections);
  }

  get openCircuits(): number {
    return this.#sum((one) => one.openCircuits);
  }

  get journals(): readonly WorkerJournalState[] {
    return [...this.#serving.values()].flatMap(({ journal }) => journal ?? []);
  }

  readonly takers = (): readonly Taker[] => [...this.#serving.values()];

  has(life: Life): boolean {
    return this.#serving.has(life);
  }

  add(life: Life): void {
    this.#serving.set(life, {
      openConnections: 0,
      openCircuits: 0,
      journal: null,
      silentLooks: 0,
      get handing() {
        return life.handing;
      },
      take: (sandboxId, socket) => life.channel.tell('connection', { sandboxId }, socket),
    });
  }

  noteBeat(
    life: Life,
    { openConnections, openCircuits, journal }: Pick<Beat, 'openConnections' | 'openCircuits' | 'journal'>,
  ): void {
    const serving = this.#serving.get(life);
    if (serving !== undefined) Object.assign(serving, { openConnections, openCircuits, journal, silentLooks: 0 });
  }

  delete(life: Life): void {
    this.#serving.delete(life);
  }

  /** Once a second. */
  look(): void {
    for (const [life, serving] of this.#serving) {
      if (++serving.silentLooks <= silentLooksAllowed) continue;
      this.#onSilent(life);
      this.#serving.delete(life);
      life.kill();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sum(of: (serving: Serving) => number): number {
    return [...this.#serving.values()].reduce((sum, one) => sum + of(one), 0);
  }
}
