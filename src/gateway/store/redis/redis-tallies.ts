// Redis as the source of sums: a field for each process of each gateway, so that reporting a sum twice changes nothing. What a
// gateway finds in its own journal counts only where its earlier processes did not report it, or Redis has lost it: never
// twice, and never in place of more.
import type { TallySource } from '../quota-source.ts';
import { type RedisScript, reportTally } from './redis-scripts.ts';

export interface RedisTalliesOptions {
  readonly prefix: string;
  /** Of this process: `NAME#…`, with the name of its gateway, which stays. */
  readonly instance: string;
  run(script: RedisScript, ...args: (string | number)[]): Promise<unknown>;
}

export function createRedisTallies({ prefix, instance, run }: RedisTalliesOptions): TallySource {
  return {
    async report(key, own, keepMs, recalled) {
      const sum = Number(await run(reportTally, `${prefix}tally:${key}`, instance, own, Math.ceil(keepMs), recalled));
      return Number.isFinite(sum) ? sum : 0;
    },
  };
}
