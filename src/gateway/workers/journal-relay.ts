// The journal as a worker has it: it sends finished records to the gateway's own process, in order, each once, at the end of
// the turn or a few milliseconds later. The worker serves nothing while the journal cannot be written, while too many records
// are under way, or while the other process is silent. Refusals made meanwhile are sent too, up to a bound; past it they are
// counted, and the count is reported when there is room again.
import type { JournalHealth } from './worker-verbs.ts';

export interface JournalRelayOptions {
  /** Resolves when the journal has taken them. */
  readonly send: (records: readonly object[]) => Promise<unknown>;
  readonly health: JournalHealth;
  /** Whether the other process has been silent for too long. */
  readonly isSilent: () => boolean;
  readonly maxUnderWay?: number;
}

type RelayState = { readonly kind: 'ok' } | { readonly kind: 'failing'; readonly reason: string };

/** Some seconds of a busy worker: more than that, and the journal cannot keep up. */
const usuallyUnderWay = 4096;
/** Refusals that come while nothing is served have room for as many again, and no more: memory stays bounded. */
const mostUnderWay = 2;
/** More than this are sent at once, so that no message is large. */
const maxBatch = 256;
/** A message costs more than the records in it: so soon after the last one, records are gathered. What a killed worker loses. */
const gatherMs = 4;

export class JournalRelay {
  readonly #options: JournalRelayOptions;
  readonly #maxUnderWay: number;
  #health: JournalHealth;
  #queue: object[] = [];
  #underWay = 0;
  #scheduled = false;
  #sentMs = Number.NEGATIVE_INFINITY;
  #idle: (() => void)[] = [];
  /** Sandboxes that must wait, until when. */
  #over = new Map<string, number>();

  constructor(options: JournalRelayOptions) {
    this.#options = options;
    this.#maxUnderWay = options.maxUnderWay ?? usuallyUnderWay;
    this.#health = options.health;
    this.setHealth(options.health);
  }

  /** Checked before a request is served. */
  get healthy(): boolean {
    return this.#health.healthy && this.#underWay < this.#maxUnderWay && !this.#options.isSilent();
  }

  get state(): RelayState {
    if (!this.#health.healthy) return { kind: 'failing', reason: this.#health.reason };
    if (this.#options.isSilent())
      return { kind: 'failing', reason: 'the process that writes the journal does not answer its worker' };
    if (this.#underWay >= this.#maxUnderWay)
      return { kind: 'failing', reason: `the journal is ${this.#underWay} records behind` };
    return { kind: 'ok' };
  }

  /** As the process that writes it reports it. */
  setHealth(health: JournalHealth): void {
    this.#health = health;
    const nowMs = performance.now();
    this.#over = new Map(health.over.map(([sandbox, waitMs]) => [sandbox, nowMs + waitMs]));
  }

  /** How long a sandbox must wait that has written its share of the journal; 0: it need not. */
  waitMs(sandbox: string): number {
    const untilMs = this.#over.get(sandbox);
    return untilMs === undefined ? 0 : Math.max(0, untilMs - performance.now());
  }

  /** Its number is not known here. Throws when there is no room: whoever appends counts it as not recorded. */
  append(record: object): number {
    if (this.#underWay >= mostUnderWay * this.#maxUnderWay)
      throw new Error(`the journal is ${this.#underWay} records behind, and this one has no room`);
    this.#queue.push(record);
    this.#underWay++;
    if (this.#queue.length >= maxBatch) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      const sinceMs = performance.now() - this.#sentMs;
      if (sinceMs >= gatherMs) setImmediate(this.#turn);
      else setTimeout(this.#turn, gatherMs - sinceMs);
    }
    return 0;
  }

  flush(): void {
    const records = this.#queue;
    if (records.length === 0) return;
    this.#queue = [];
    this.#sentMs = performance.now();
    // One that is not answered stays under way: the channel is gone, and this process with it.
    this.#options.send(records).then(
      () => this.#taken(records.length),
      () => {},
    );
  }

  /** Resolves when the journal has everything. */
  settled(): Promise<void> {
    this.flush();
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  readonly #turn = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  #taken(count: number): void {
    this.#underWay -= count;
    if (this.#underWay > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
