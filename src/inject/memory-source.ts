// A credential that an operator hands over with `sallyport secret set`: kept in this process's memory and nowhere
// else, gone when the gateway stops. Where the user's own keys may be used, one of those stands in until then.
import { Secret } from '../flow/secret.ts';
import { cleanValue, type SecretSource } from './secret-source.ts';
import type { UserKey } from './user-keys.ts';

export class MemorySource implements SecretSource {
  readonly #name: string;
  #secret: Secret | null = null;
  #userKey: (() => UserKey) | null;

  /** `userKey` null: only what is set by hand. */
  constructor(name: string, userKey: (() => UserKey) | null = null) {
    this.#name = name;
    this.#userKey = userKey;
  }

  set(value: string): void {
    this.#secret = new Secret(this.#name, cleanValue(value, 'the value'));
  }

  /** False: there was nothing. A key of the user that is removed does not come back either. */
  clear(): boolean {
    const had = this.current() !== null;
    this.#secret = null;
    this.#userKey = null;
    return had;
  }

  current(): Secret | null {
    return this.#secret ?? this.#userKey?.().secret ?? null;
  }

  /** The key of the user that is in force, or why there is none; null: set by hand, or nothing to look for. */
  get userKey(): UserKey | null {
    return this.#secret === null ? (this.#userKey?.() ?? null) : null;
  }
}
