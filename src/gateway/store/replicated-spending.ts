// Bytes that are counted elsewhere: counted here at once and told soon, many together. What is owed is what the lender said
// last, and what went through here since. Never holds anything up: whoever spends asks for the debt before the next time.
import type { MeterRate, WaitMs } from '../../path/shared-store.ts';
import { shareOf } from './leased-rates.ts';
import { LocalMeters } from './local-meters.ts';
import type { LenderState, MeterLender } from './meter-lender.ts';

const tellEveryMs = 100;

interface Spent {
  rate: MeterRate;
  untold: number;
  telling: boolean;
}

export class ReplicatedSpending {
  readonly #lender: MeterLender;
  readonly #state: LenderState;
  /** What the lender's bucket holds, as far as known here. */
  readonly #estimate: LocalMeters;
  readonly #spent = new Map<string, Spent>();
  #timer: NodeJS.Timeout | null = null;

  constructor(lender: MeterLender, state: LenderState) {
    this.#lender = lender;
    this.#state = state;
    this.#estimate = new LocalMeters(state.now);
  }

  spend(key: string, rate: MeterRate, amount: number): void {
    this.#estimate.spend(key, this.#ours(rate), amount);
    const spent = this.#spent.get(key);
    if (spent === undefined) this.#spent.set(key, { rate, untold: amount, telling: false });
    else {
      spent.rate = rate;
      spent.untold += amount;
    }
    this.#timer ??= setTimeout(() => this.tell(), tellEveryMs).unref();
  }

  debtMs(key: string, rate: MeterRate): WaitMs {
    return this.#estimate.debtMs(key, this.#ours(rate));
  }

  tell(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const [key, spent] of this.#spent) if (!spent.telling) this.#tellOne(key, spent);
  }

  /** While the lender is away it is not told later: its bucket has filled up meanwhile as if nobody had spent. */
  #tellOne(key: string, spent: Spent): void {
    const { rate, untold } = spent;
    spent.untold = 0;
    if (this.#state.away() || untold === 0) {
      this.#spent.delete(key);
      return;
    }
    spent.telling = true;
    this.#lender.spend(key, rate, untold).then(
      (left) => {
        const estimate = this.#estimate.left(key, rate);
        const known = left === null ? Math.max(0, estimate + spent.untold) : left;
        this.#estimate.spend(key, rate, estimate - (known - spent.untold));
        this.#told(key, spent);
      },
      () => this.#told(key, spent),
    );
  }

  #told(key: string, spent: Spent): void {
    spent.telling = false;
    if (spent.untold === 0) this.#spent.delete(key);
    else this.#timer ??= setTimeout(() => this.tell(), tellEveryMs).unref();
  }

  #ours(rate: MeterRate): MeterRate {
    return this.#state.away() ? shareOf(rate, this.#state.peers()) : rate;
  }
}
