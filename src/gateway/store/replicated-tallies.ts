// Sums that another process keeps: counted here at once, reported soon, and known with what others reported, a second old at
// most. Each report is all that this process ever counted, so that a second report, or one after a loss, changes nothing. What
// is recalled from before is reported beside it, because the source may know it already.
import type { SharedTallies } from '../../path/shared-store.ts';
import type { SourceState, TallySource } from './quota-source.ts';

const reportEveryMs = 250;
const oldestMs = 1000;
/** From this age on it is asked for again in the background, so that nobody waits. */
const soonOldMs = 500;
/** One that nobody asked for or added to for so long, and that holds nothing of this process, is forgotten. */
const idleMs = 60_000;

interface Tally {
  own: number;
  recalled: number;
  /** With what was recalled, once the source has answered. */
  others: number;
  knownAtMs: number;
  usedAtMs: number;
  keepMs: number;
  untilMs: number;
  unreported: boolean;
  asking: Promise<number> | null;
}

export class ReplicatedTallies implements SharedTallies {
  readonly #source: TallySource;
  readonly #state: SourceState;
  readonly #tallies = new Map<string, Tally>();
  readonly #timer: NodeJS.Timeout;

  constructor(source: TallySource, state: SourceState) {
    this.#source = source;
    this.#state = state;
    this.#timer = setInterval(() => this.tick(), reportEveryMs).unref();
  }

  get size(): number {
    return this.#tallies.size;
  }

  add(key: string, amount: number, keepMs: number): void {
    this.#changed(key, keepMs).own += amount;
  }

  recall(key: string, amount: number, keepMs: number): void {
    this.#changed(key, keepMs).recalled += amount;
  }

  total(key: string): number | Promise<number> {
    const tally = this.#tallyOf(key);
    const sum = sumOf(tally);
    if (this.#state.away()) return sum;
    const ageMs = this.#state.now() - tally.knownAtMs;
    if (ageMs <= soonOldMs) return sum;
    const asked = this.#report(key, tally);
    return ageMs <= oldestMs ? sum : asked;
  }

  /** Reports what is new and forgets what is over. */
  tick(): void {
    const nowMs = this.#state.now();
    for (const [key, tally] of this.#tallies) {
      const over = isEmpty(tally) ? nowMs - tally.usedAtMs > idleMs : tally.untilMs <= nowMs;
      if (over && tally.asking === null) this.#tallies.delete(key);
      else if (tally.unreported && !this.#state.away()) void this.#report(key, tally);
    }
  }

  /** After the source was away: it may have forgotten. */
  reportAll(): void {
    for (const tally of this.#tallies.values()) if (!isEmpty(tally)) tally.unreported = true;
    this.tick();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#state.away()) return;
    const unreported = [...this.#tallies].filter(([, tally]) => tally.unreported);
    await Promise.all(
      unreported.map(async ([key, tally]) => {
        await tally.asking;
        await this.#report(key, tally);
      }),
    );
  }

  #changed(key: string, keepMs: number): Tally {
    const tally = this.#tallyOf(key);
    tally.unreported = true;
    tally.keepMs = Math.max(tally.keepMs, keepMs);
    tally.untilMs = Math.max(tally.untilMs, this.#state.now() + keepMs);
    return tally;
  }

  #tallyOf(key: string): Tally {
    let tally = this.#tallies.get(key);
    if (tally === undefined) {
      const none = { own: 0, recalled: 0, others: 0, keepMs: 0, untilMs: 0, unreported: false, asking: null };
      tally = { ...none, knownAtMs: Number.NEGATIVE_INFINITY, usedAtMs: this.#state.now() };
      this.#tallies.set(key, tally);
    }
    tally.usedAtMs = this.#state.now();
    return tally;
  }

  /** Never rejects: without an answer, what is known here. */
  #report(key: string, tally: Tally): Promise<number> {
    if (tally.asking !== null) return tally.asking;
    const reported = tally.own;
    tally.unreported = false;
    tally.asking = this.#source.report(key, reported, tally.keepMs, tally.recalled).then(
      (total) => {
        tally.asking = null;
        tally.others = Math.max(0, total - reported);
        tally.knownAtMs = this.#state.now();
        return sumOf(tally);
      },
      () => {
        tally.asking = null;
        tally.unreported = true;
        return sumOf(tally);
      },
    );
    return tally.asking;
  }
}

/** What was recalled is among the others as soon as the source knows it. */
function sumOf({ own, recalled, others }: Tally): number {
  return own + Math.max(others, recalled);
}

function isEmpty({ own, recalled }: Tally): boolean {
  return own === 0 && recalled === 0;
}
