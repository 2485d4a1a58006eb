// Answers one worker from the meters and tallies of the gateway's first process. When the worker is gone, its places are free
// again; what it had drawn of a rate is not given back, which is on the safe side.
import type { MeterRate, SharedMeters, SharedTallies, WaitMs } from '../../path/shared-store.ts';
import type { Drawn, QuotaSource, TallySource } from './quota-source.ts';

export interface QuotaServer extends QuotaSource, TallySource {
  /** The worker has died: its places are free. */
  gone(): void;
}

/** One for each worker. Calls about one key must come one after the other, as the leases make them. */
export function createQuotaServer(meters: SharedMeters, tallies: SharedTallies): QuotaServer {
  const places = new Map<string, number>();
  const reported = new Map<string, { own: number; untilMs: number }>();
  let isGone = false;

  const draw = async (key: string, rate: MeterRate, least: number, wanted: number): Promise<Drawn> => {
    let granted = 0;
    let waitMs: WaitMs = 0;
    // In halves: all that is there, in a few questions, of meters that answer only yes or no.
    for (let step = wanted; step >= 1; ) {
      waitMs = await meters.take(key, rate, step);
      if (waitMs === 0) granted += step;
      else if (granted === 0 && step <= least) break;
      else step = Math.max(granted === 0 ? least : 0, Math.floor(step / 2));
      step = Math.min(step, wanted - granted);
    }
    return { granted, waitMs: granted >= wanted ? 0 : waitMs };
  };

  const hasPlaces = async (key: string, limit: number, held: number, wanted: number): Promise<number> => {
    const has = (): number => places.get(key) ?? 0;
    const note = (count: number): void => {
      if (count === 0) places.delete(key);
      else places.set(key, count);
    };
    for (; has() > Math.max(wanted, held); note(has() - 1)) meters.release(key);
    while (!isGone && has() < wanted && (await meters.hold(key, limit)) === 0) {
      // Gone while it asked: what it had before is free already.
      if (isGone) meters.release(key);
      else note(has() + 1);
    }
    return has();
  };

  return {
    draw,
    giveBack: (key, rate, amount) => meters.spend(key, rate, -amount),
    async spend(key, rate, amount) {
      meters.spend(key, rate, amount);
      const debtMs = meters.debtMs(key, rate);
      return debtMs === 0 ? null : (-debtMs * rate.perSecond) / 1000;
    },
    places: hasPlaces,
    async report(key, own, keepMs) {
      const before = reported.get(key)?.own ?? 0;
      if (own > before) {
        reported.set(key, { own, untilMs: performance.now() + keepMs });
        tallies.add(key, own - before, keepMs);
        if (reported.size % 1024 === 0) forgetOver(reported);
      }
      return tallies.total(key);
    },
    gone() {
      isGone = true;
      for (const [key, has] of places) for (let i = 0; i < has; i++) meters.release(key);
      places.clear();
    },
  };
}

function forgetOver(reported: Map<string, { readonly untilMs: number }>): void {
  const nowMs = performance.now();
  for (const [key, { untilMs }] of reported) if (untilMs <= nowMs) reported.delete(key);
}
