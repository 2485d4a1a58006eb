// Short-lived values in Redis: sealed, under names that tell nothing (a name may be a ticket that opens something), with
// their end inside the seal. Never believes Redis about how long a value holds.

import type { SealedBox } from '../../../kit/sealed-box.ts';
import { type SharedVault, StoreUnavailable } from '../../../path/shared-store.ts';

const endBytes = 8;
const mostBytes = 1024 ** 2;

export interface RedisVaultOptions {
  readonly prefix: string;
  readonly seal: SealedBox;
  command(...args: (string | number)[]): Promise<unknown>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export function createRedisVault({ prefix, seal, command, now = Date.now }: RedisVaultOptions): SharedVault {
  const keyOf = (name: string) => `${prefix}vault:${seal.hide(name)}`;
  return {
    async put(name, value, keepMs) {
      if (value.length > mostBytes) throw new StoreUnavailable(`a value of ${value.length} bytes is not kept in Redis`);
      if (keepMs <= 0) return void (await command('DEL', keyOf(name)));
      const plain = Buffer.alloc(endBytes + value.length);
      plain.writeDoubleBE(now() + keepMs);
      value.copy(plain, endBytes);
      await command('SET', keyOf(name), seal.seal(keyOf(name), plain).toString('base64'), 'PX', Math.ceil(keepMs));
    },
    async get(name) {
      const sealed = await command('GET', keyOf(name));
      if (typeof sealed !== 'string') return null;
      const plain = seal.open(keyOf(name), Buffer.from(sealed, 'base64'));
      if (plain === null || plain.length < endBytes || plain.readDoubleBE() <= now()) return null;
      return plain.subarray(endBytes);
    },
    async remove(name) {
      await command('DEL', keyOf(name));
    },
  };
}
