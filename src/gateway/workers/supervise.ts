// Keeps so many workers running: starts them, puts another in the place of one that has died, ends them in order. A worker
// that dies as soon as it starts is started ever more slowly, and that is said aloud; it never gives up. Knows nothing of
// what workers do.
import type { Log } from '../../kit/text/log.ts';

/** One life of a worker. */
export interface WorkerLife {
  readonly pid: number | undefined;
  /** Resolves when it serves; rejects with what is in the way. */
  readonly ready: Promise<void>;
  /** How it ended; never rejects. */
  readonly ended: Promise<string>;
  /** Asks it to let requests end, for so long at most, and then to end. */
  drain(graceMs: number): void;
  kill(): void;
}

/** `worker`: 1 to `count`. */
export type StartWorker = (worker: number) => WorkerLife;

export interface SuperviseOptions {
  readonly count: number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly now?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

const firstDelayMs = 50;
const longestDelayMs = 5_000;
/** Who has served for so long did not die of its start. */
const wellAfterMs = 10_000;
const manyPerMinute = 10;
/** After the time that requests have to end, for what comes then: records, tokens that are taken back. */
const endingMs = 8_000;

export class Supervisor {
  readonly #options: SuperviseOptions;
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<void>;
  readonly #lives = new Map<number, WorkerLife>();
  readonly #live = new Set<WorkerLife>();
  #restarts = 0;
  #deathsAtMs: number[] = [];
  #stopping = false;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#wait = options.wait ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()));
  }

  get live(): number {
    return this.#live.size;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Whether workers die faster than they should be started. */
  get isFailing(): boolean {
    const since = this.#now() - 60_000;
    this.#deathsAtMs = this.#deathsAtMs.filter((atMs) => atMs > since);
    return this.#deathsAtMs.length > manyPerMinute;
  }

  /** For people: `2 of 2 live, restarted 0 times`. */
  describe(): string {
    const times = this.#restarts === 1 ? 'once' : `${this.#restarts} times`;
    const failing = this.isFailing ? `; ${this.#deathsAtMs.length} have died in the last minute, the log says why` : '';
    return `${this.live} of ${this.#options.count} live, restarted ${times}${failing}`;
  }

  /** Resolves when all serve. One that cannot start ends them all: that is the operator's to mend. */
  async start(startWorker: StartWorker): Promise<void> {
    const workers = Array.from({ length: this.#options.count }, (_, index) => index + 1);
    try {
      await Promise.all(workers.map((worker) => this.#begin(worker, startWorker)));
    } catch (error) {
      this.#stopping = true;
      for (const life of this.#lives.values()) life.kill();
      await Promise.all([...this.#lives.values()].map(({ ended }) => ended));
      throw error;
    }
    for (const worker of workers) void this.#attend(worker, startWorker);
  }

  /** Resolves when none is left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    const lives = [...this.#lives.values()];
    for (const life of lives) life.drain(graceMs);
    const timer = setTimeout(() => {
      for (const life of lives) life.kill();
    }, graceMs + endingMs);
    await Promise.all(lives.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  async #begin(worker: number, startWorker: StartWorker): Promise<WorkerLife> {
    const life = startWorker(worker);
    this.#lives.set(worker, life);
    void life.ended.then(() => this.#live.delete(life));
    await life.ready;
    this.#live.add(life);
    return life;
  }

  /** One place, for as long as the gateway lives. */
  async #attend(worker: number, startWorker: StartWorker): Promise<void> {
    const { log } = this.#options;
    let delayMs = firstDelayMs;
    let hasServed = true;
    for (;;) {
      const startedAtMs = this.#now();
      const life = this.#lives.get(worker)!;
      const how = await life.ended;
      if (this.#stopping) return;
      this.#deathsAtMs.push(this.#now());
      delayMs = this.#now() - startedAtMs > wellAfterMs ? firstDelayMs : Math.min(longestDelayMs, delayMs * 2);
      if (hasServed)
        log.error('a worker has ended: its connections are lost, another takes its place', { worker, how });
      if (this.isFailing)
        log.error('workers die faster than they should be started', { in_a_minute: this.#deathsAtMs.length });
      await this.#wait(delayMs);
      if (this.#stopping) return;
      this.#restarts++;
      hasServed = await this.#begin(worker, startWorker).then(
        () => {
          log.info('a worker was started anew', { worker });
          return true;
        },
        // It has ended, or is ended here: either way its place is filled in the next turn.
        (error: unknown) => {
          log.error('a worker could not be started', { worker, error });
          this.#lives.get(worker)?.kill();
          return false;
        },
      );
    }
  }
}
