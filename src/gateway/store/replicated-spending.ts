// Bytes that another process counts: counted here at once and reported soon, many together. What is owed is what the source
// said last, and what went through here since. Never delays anybody: who spends asks for the debt before the next time.
import type { MeterRate, WaitMs } from '../../path/shared-store.ts';
import { LocalMeters } from './local-meters.ts';
import type { QuotaSource, SourceState } from './quota-source.ts';
import { shareOf } from './rate-leases.ts';

const reportEveryMs = 100;

interface Spent {
  rate: MeterRate;
  unreported: number;
  reporting: boolean;
}

export class ReplicatedSpending {
  readonly #source: QuotaSource;
  readonly #state: SourceState;
  /** What the bucket of the source holds, as far as known here. */
  readonly #estimate: LocalMeters;
  readonly #spent = new Map<string, Spent>();
  #timer: NodeJS.Timeout | null = null;

  constructor(source: QuotaSource, state: SourceState) {
    this.#source = source;
    this.#state = state;
    this.#estimate = new LocalMeters(state.now);
  }

  spend(key: string, rate: MeterRate, amount: number): void {
    this.#estimate.spend(key, this.#ours(rate), amount);
    const spent = this.#spent.get(key);
    if (spent === undefined) this.#spent.set(key, { rate, unreported: amount, reporting: false });
    else {
      spent.rate = rate;
      spent.unreported += amount;
    }
    this.#timer ??= setTimeout(() => this.report(), reportEveryMs).unref();
  }

  debtMs(key: string, rate: MeterRate): WaitMs {
    return this.#estimate.debtMs(key, this.#ours(rate));
  }

  report(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const [key, spent] of this.#spent) if (!spent.reporting) this.#reportOne(key, spent);
  }

  /** What was spent while the source is away is never reported: its bucket fills up meanwhile as if nobody had spent. */
  #reportOne(key: string, spent: Spent): void {
    const { rate, unreported } = spent;
    spent.unreported = 0;
    if (this.#state.away() || unreported === 0) {
      this.#spent.delete(key);
      return;
    }
    spent.reporting = true;
    this.#source.spend(key, rate, unreported).then(
      (left) => {
        const estimate = this.#estimate.left(key, rate);
        const known = left === null ? Math.max(0, estimate + spent.unreported) : left;
        this.#estimate.spend(key, rate, estimate - (known - spent.unreported));
        this.#reported(key, spent);
      },
      () => this.#reported(key, spent),
    );
  }

  #reported(key: string, spent: Spent): void {
    spent.reporting = false;
    if (spent.unreported === 0) this.#spent.delete(key);
    else this.#timer ??= setTimeout(() => this.report(), reportEveryMs).unref();
  }

  #ours(rate: MeterRate): MeterRate {
    return this.#state.away() ? shareOf(rate, this.#state.peers()) : rate;
  }
}
