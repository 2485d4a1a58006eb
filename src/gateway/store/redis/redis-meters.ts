// Redis as the source of rates and places: one script for each question, so that two gateways that ask at once are
// granted one after the other. Counters and their names are all it holds: nothing here is sealed, and nothing is secret.
import type { MeterRate } from '../../../path/shared-store.ts';
import type { Drawn, QuotaSource } from '../quota-source.ts';
import { drawFromBucket, type RedisScript, spendFromBucket, takePlaces } from './redis-scripts.ts';

/** Only to clear away what nobody uses any more: the places of a dead gateway are free with the end of its heartbeat. */
const keepPlacesMs = 600_000;

export interface RedisQuotaOptions {
  readonly prefix: string;
  /** Of this process: the places of the one before it with the same name are not its own. */
  readonly instance: string;
  run(script: RedisScript, ...args: (string | number)[]): Promise<unknown>;
}

export function createRedisQuota({ prefix, instance, run }: RedisQuotaOptions): QuotaSource {
  const bucket = (key: string, { perSecond, burst }: MeterRate) => [`${prefix}meter:${key}`, perSecond, burst] as const;
  const spend = async (key: string, rate: MeterRate, amount: number) =>
    numberOf(await run(spendFromBucket, ...bucket(key, rate), amount));
  return {
    async draw(key, rate, least, wanted): Promise<Drawn> {
      const [granted, waitMs] = (await run(drawFromBucket, ...bucket(key, rate), least, wanted)) as unknown[];
      return { granted: numberOf(granted), waitMs: numberOf(waitMs) };
    },
    giveBack(key, rate, amount) {
      // Lost is lost: others then have a little less, for as long as the bucket takes to fill.
      spend(key, rate, -amount).catch(() => {});
    },
    spend,
    async places(key, limit, held, wanted) {
      return numberOf(
        await run(takePlaces, prefix, `${prefix}places:${key}`, instance, limit, held, wanted, keepPlacesMs),
      );
    },
  };
}

function numberOf(reply: unknown): number {
  const value = Number(reply);
  return Number.isFinite(value) ? value : 0;
}
