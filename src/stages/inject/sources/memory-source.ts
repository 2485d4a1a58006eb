// A credential that an operator hands over with `sallyport secret set`: kept in this process's memory and nowhere
// else, gone when the gateway stops. Where the user's own keys and logins may be used, one of those stands in until then.
import { Secret } from '../../../path/secret.ts';
import { atHand, cleanValue, type SecretAsker, type SecretSource } from './secret-source.ts';
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

  setByHand(): Secret | null {
    return this.#secret;
  }

  /** False: there was nothing. A key of the user that is removed does not come back either. */
  clear(): boolean {
    const had = this.#secret !== null || this.#standIn !== null;
    this.#secret = null;
    this.#userKey = null;
    return had;
  }

  current(asker: SecretAsker | null = null): Secret | null | Promise<Secret | null> {
    return this.#secret ?? this.#standIn?.current(asker) ?? null;
  }

  /** What was set by hand is all there is. */
  async renewed(secret: Secret, asker: SecretAsker | null): Promise<Secret | null> {
    return (await this.#standIn?.renewed?.(secret, asker)) ?? null;
  }

  listed(): Secret | null {
    if (this.#secret !== null) return this.#secret;
    const standIn = this.#standIn;
    return standIn === null ? null : atHand(standIn);
  }

  async close(): Promise<void> {
    await this.#standIn?.close?.();
  }

  /** The key of the user that is in force, or why there is none; null: set by hand, or nothing to look for. */
  get userKey(): UserKey | null {
    return this.#secret === null ? (this.#userKey?.() ?? null) : null;
  }

  get origin(): string | null {
    return this.userKey?.origin ?? null;
  }

  get problem(): string | null {
    return this.userKey?.problem ?? this.#standIn?.problem ?? null;
  }

  get #standIn(): SecretSource | null {
    return this.userKey?.source ?? null;
  }
}
