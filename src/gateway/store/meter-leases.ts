// Limits that another process counts (Redis, or the first process of a gateway), decided here from leases taken in advance.
// All processes together never grant more than the source of the quota gave them. Never keeps the process alive.
import type { MeterRate, SharedMeters, WaitMs } from '../../path/shared-store.ts';
import { PlaceLeases } from './place-leases.ts';
import type { QuotaSource, SourceState } from './quota-source.ts';
import { RateLeases } from './rate-leases.ts';
import { ReplicatedSpending } from './replicated-spending.ts';

const tickMs = 1000;

export interface MeterLeases extends SharedMeters {
  /** After the source was away: reports again what this process holds. */
  reportAll(): void;
  /** Gives up what is leased and not used. Resolves to how much that is. */
  recall(key: string, kind: 'rate' | 'places'): number | Promise<number>;
  /** What happens once a second; for tests with a clock of their own. */
  tick(): void;
  /** Gives back what is unused. */
  close(): void;
}

/** `now`: milliseconds that never run backwards. Without `away` the source always answers; without `peers` this process is alone. */
export function createMeterLeases(source: QuotaSource, given: Partial<SourceState> = {}): MeterLeases {
  const state: SourceState = {
    now: given.now ?? (() => performance.now()),
    away: given.away ?? (() => false),
    peers: given.peers ?? (() => 1),
  };
  const rates = new RateLeases(source, state);
  const places = new PlaceLeases(source, state);
  const spending = new ReplicatedSpending(source, state);
  const tick = () => {
    rates.tick();
    places.tick();
  };
  const timer = setInterval(tick, tickMs).unref();
  return {
    take: (key: string, rate: MeterRate, amount?: number): WaitMs | Promise<WaitMs> => rates.take(key, rate, amount),
    takeNow: (key, rate) => rates.takeNow(key, rate),
    spend: (key, rate, amount) => spending.spend(key, rate, amount),
    debtMs: (key, rate) => spending.debtMs(key, rate),
    hold: (key, limit) => places.hold(key, limit),
    release: (key) => places.release(key),
    reportAll: () => places.reportAll(),
    recall: (key, kind) => (kind === 'rate' ? rates : places).recall(key),
    tick,
    close() {
      clearInterval(timer);
      spending.report();
      rates.close();
    },
  };
}
