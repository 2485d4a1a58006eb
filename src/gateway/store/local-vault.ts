// Short-lived values in the memory of this process: bounded in number and bytes (the ones used longest ago go), and gone
// when their time is over. Hands out copies: what a caller does to a buffer changes nothing that is kept.
import { LRUCache } from 'lru-cache';
import type { SharedVault } from '../../path/shared-store.ts';

const mostValues = 50_000;
const mostBytes = 64 * 1024 ** 2;
/** What a key and its entry take beside the value. */
const entryBytes = 256;

export interface LocalVaultLimits {
  readonly maxValues: number;
  readonly maxBytes: number;
}

export class LocalVault implements SharedVault {
  readonly #now: () => number;
  readonly #limits: LocalVaultLimits;
  #made: LRUCache<string, Buffer> | null = null;

  /** `now`: milliseconds that never run backwards. */
  constructor(now: () => number = () => performance.now(), limits: Partial<LocalVaultLimits> = {}) {
    this.#now = now;
    this.#limits = { maxValues: limits.maxValues ?? mostValues, maxBytes: limits.maxBytes ?? mostBytes };
  }

  /** Made with the first value: most gateways never keep one, and it takes its whole room at once. */
  get #kept(): LRUCache<string, Buffer> {
    this.#made ??= new LRUCache({
      max: this.#limits.maxValues,
      maxSize: this.#limits.maxBytes,
      perf: { now: this.#now },
      // Else it remembers the time for a millisecond by a timer, which a clock handed in does not follow.
      ttlResolution: 0,
    });
    return this.#made;
  }

  get size(): number {
    return this.#made?.size ?? 0;
  }

  put(key: string, value: Buffer, keepMs: number): Promise<void> {
    const size = entryBytes + key.length + value.length;
    if (size > this.#limits.maxBytes) {
      return Promise.reject(new Error(`a value of ${value.length} bytes is larger than the vault`));
    }
    if (keepMs > 0) this.#kept.set(key, Buffer.from(value), { ttl: Math.max(1, Math.ceil(keepMs)), size });
    else this.#made?.delete(key);
    return Promise.resolve();
  }

  get(key: string): Promise<Buffer | null> {
    const value = this.#made?.get(key);
    return Promise.resolve(value === undefined ? null : Buffer.from(value));
  }

  remove(key: string): Promise<void> {
    this.#made?.delete(key);
    return Promise.resolve();
  }
}
