// The questions about registrations that Redis is asked, one function each: seals what goes there, opens what comes, and puts
// answers into words. Knows nothing of what was known before, and decides nothing.

import type { SealedBox } from '../../../kit/sealed-box.ts';
import type { ClaimTaken } from '../../../path/shared-store.ts';
import type { VersionedRegistration } from '../known-registrations.ts';
import { putRegistration, type RedisScript, removeRegistration } from './redis-scripts.ts';
import { createSealedChanges, type SealedChanges } from './sealed-changes.ts';

/** Redis clears away what is over; by whose clock it is over is the gateways' business, so it waits a little. */
const keepLongerMs = 600_000;
const readAtOnce = 500;

export interface RegistrationQueryOptions {
  readonly prefix: string;
  readonly seal: SealedBox;
  readonly instance: string;
  command(...args: (string | number)[]): Promise<unknown>;
  run(script: RedisScript, ...args: (string | number)[]): Promise<unknown>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * `others`: the live gateways beside this one, instance and name. `quiet`: the names of those that cannot be asked, and may
 * still serve whom they know.
 */
export type QueryAnswer =
  | { readonly kind: 'done'; readonly others: ReadonlyMap<string, string>; readonly quiet: readonly string[] }
  | { readonly kind: 'taken'; readonly by: ClaimTaken }
  /** Changes must have a higher version than this. */
  | { readonly kind: 'old'; readonly version: number }
  /** It is not there, or was removed; it is there in another version than the one it was to follow; in a newer one. */
  | { readonly kind: 'gone' | 'changed' | 'newer' };

export class RegistrationQueries {
  readonly sealed: SealedChanges;
  readonly #options: RegistrationQueryOptions;

  constructor(options: RegistrationQueryOptions) {
    this.#options = options;
    this.sealed = createSealedChanges(options.seal, options.prefix);
  }

  /** `follows`: the version that it replaces. `restore`: what Redis had taken once and has lost; not what was removed. */
  async put(mode: 'add' | 'replace' | 'restore', put: VersionedRegistration, follows = 0): Promise<QueryAnswer> {
    const { id, claims, expiresAtMs } = put.registration;
    // In Redis they are lines.
    if (claims.some((claim) => claim.includes('\n'))) throw new Error(`a claim of ${id} has more than one line`);
    const nowMs = this.#options.now();
    const keepMs = Math.max(0, Math.ceil(expiresAtMs - nowMs)) + keepLongerMs;
    const times = [Math.floor(expiresAtMs), Math.floor(nowMs), keepMs];
    const message = this.sealed.sealChange({ kind: 'put', from: this.#options.instance, put });
    const sealed = this.sealed.sealRegistration(put);
    return this.#ask(putRegistration, mode, id, put.version, follows, ...times, sealed, message, claims.join('\n'));
  }

  /** `again`: a removal that Redis had taken once and has lost. */
  async remove(id: string, version: number, again: boolean): Promise<QueryAnswer> {
    const message = this.sealed.sealChange({ kind: 'gone', from: this.#options.instance, id, version });
    return this.#ask(removeRegistration, id, version, message, again ? 'again' : '');
  }

  /** The highest version that Redis has taken. */
  async version(): Promise<number> {
    return Number((await this.#options.command('GET', `${this.#options.prefix}version`)) ?? 0) || 0;
  }

  async ids(): Promise<string[]> {
    return (await this.#options.command('ZRANGE', `${this.#options.prefix}registrations`, 0, -1)) as string[];
  }

  /** Calls with each that is there: null when it was not sealed by a gateway of this CA. */
  async read(ids: readonly string[], found: (id: string, one: VersionedRegistration | null) => void): Promise<void> {
    const { command, prefix } = this.#options;
    for (let start = 0; start < ids.length; start += readAtOnce) {
      const some = ids.slice(start, start + readAtOnce);
      const texts = await Promise.all(some.map((id) => command('HGET', `${prefix}registration:${id}`, 'sealed')));
      for (const [i, text] of texts.entries()) {
        if (typeof text === 'string') found(some[i]!, this.sealed.openRegistration(some[i]!, text));
      }
    }
  }

  acknowledge(to: string, version: number): void {
    const { prefix, instance, command } = this.#options;
    const text = this.sealed.sealAcknowledgement(to, { from: instance, version });
    command('PUBLISH', `${prefix}acknowledged:${to}`, text).catch(() => {});
  }

  async #ask(script: RedisScript, ...args: (string | number)[]): Promise<QueryAnswer> {
    const reply = (await this.#options.run(script, this.#options.prefix, ...args)) as unknown[];
    const [kind, ...rest] = reply.map(String);
    if (kind === 'taken') return { kind, by: { claim: rest[0] ?? '', holder: rest[1] ?? '' } };
    if (kind === 'old') return { kind, version: Number(rest[0]) };
    if (kind === 'gone' || kind === 'changed' || kind === 'newer') return { kind };
    const others = new Map<string, string>();
    const quiet: string[] = [];
    for (let i = 0; i + 1 < rest.length; i += 2) {
      if (rest[i] === '') quiet.push(rest[i + 1]!);
      else others.set(rest[i]!, rest[i + 1]!);
    }
    others.delete(this.#options.instance);
    return { kind: 'done', others, quiet };
  }
}
