// One at a time in all gateways: a key with a token of its own that runs out by itself, renewed while it is held. There is no
// fencing: what is done under a lock here is asking a third party for a token, and that party is the judge of whether a
// grant is used twice. Two at once (after a pause longer than the lock) cost one question too many, never a wrong answer.
import { randomBytes } from 'node:crypto';
import { type SharedLocks, StoreUnavailable } from '../../../path/shared-store.ts';
import { LocalLocks } from '../local-locks.ts';
import { keepLock, type RedisScript } from './redis-scripts.ts';

const lockMs = 10_000;
const renewMs = 3000;
const [soonestMs, latestMs] = [20, 200];

export interface RedisLocksOptions {
  readonly prefix: string;
  command(...args: (string | number)[]): Promise<unknown>;
  run(script: RedisScript, ...args: (string | number)[]): Promise<unknown>;
}

export function createRedisLocks({ prefix, command, run }: RedisLocksOptions): SharedLocks {
  // Those of one process stand in line here, so that one of them asks.
  const local = new LocalLocks();

  const takeLock = async (name: string, key: string, token: string, untilMs: number): Promise<void> => {
    for (let pauseMs = soonestMs; ; pauseMs = Math.min(latestMs, pauseMs * 1.5)) {
      if ((await command('SET', key, token, 'NX', 'PX', lockMs)) !== null) return;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new StoreUnavailable(`the lock ${name} was held elsewhere all the time`);
      const aboutMs = pauseMs * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, Math.min(leftMs, aboutMs)).unref());
    }
  };

  return {
    exclusively(name, waitMs, act) {
      const untilMs = performance.now() + waitMs;
      return local.exclusively(name, waitMs, async () => {
        const key = `${prefix}lock:${name}`;
        const token = randomBytes(16).toString('hex');
        await takeLock(name, key, token, untilMs);
        const renew = setInterval(() => void run(keepLock, key, token, lockMs).catch(() => {}), renewMs).unref();
        try {
          return await act();
        } finally {
          clearInterval(renew);
          await run(keepLock, key, token, 0).catch(() => {});
        }
      });
    },
  };
}
