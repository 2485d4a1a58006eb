// Registrations that gateways share through Redis: kept there sealed, their claims given to one at a time by one script, and
// each change told to all. Believes only what opens with the common seal and is not older than what it knows. Never
// acknowledges what Redis has not taken.
import {
  type ClaimTaken,
  type RegistrationChange,
  type RegistrationStore,
  type StoredRegistration,
  StoreUnavailable,
} from '../../../path/shared-store.ts';
import { Acknowledgements } from '../acknowledgements.ts';
import { KnownRegistrations, type VersionedRegistration } from '../known-registrations.ts';
import { RegistrationExtensions } from '../registration-extensions.ts';
import { type QueryAnswer, RegistrationQueries, type RegistrationQueryOptions } from './registration-queries.ts';
import type { Announced } from './sealed-changes.ts';

const attempts = 5;
const changesWereLost = 'changes were lost (was it restarted without its data?): they are told again';

export interface RedisRegistrationsOptions extends RegistrationQueryOptions {
  /** Something was found that no gateway of ours wrote, or a listener threw. */
  onOddity(what: string, error?: unknown): void;
}

export class RedisRegistrations implements RegistrationStore {
  readonly #options: RedisRegistrationsOptions;
  readonly #queries: RegistrationQueries;
  readonly #known = new KnownRegistrations();
  readonly #acknowledgements = new Acknowledgements();
  readonly #extensions: RegistrationExtensions;
  #listener: (change: RegistrationChange) => unknown = () => {};
  /** The highest version that was made or met: the next is higher. */
  #highest = 0;
  /** The highest version that a message has brought, or that was there when all was read. */
  #heard = 0;
  /** The highest version that the store is known to have had. */
  #stored = 0;

  constructor(options: RedisRegistrationsOptions) {
    this.#options = options;
    this.#queries = new RegistrationQueries(options);
    this.#extensions = new RegistrationExtensions({
      find: (id) => this.#known.find(id),
      write: (known, expiresAtMs) => this.#extendOne(known, expiresAtMs),
      now: options.now,
    });
  }

  get channels(): { readonly changes: string; readonly acknowledged: string } {
    const { prefix, instance } = this.#options;
    return { changes: `${prefix}changes`, acknowledged: `${prefix}acknowledged:${instance}` };
  }

  /** Whether a store with this version has something that did not come here, or has lost something. */
  isBehind(storeVersion: number): boolean {
    return storeVersion > this.#heard || storeVersion < this.#stored;
  }

  load(): Promise<readonly StoredRegistration[]> {
    return Promise.resolve(this.#known.list().map(({ registration }) => registration));
  }

  watch(listener: (change: RegistrationChange) => unknown): void {
    this.#listener = listener;
  }

  async add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    const answer = await this.#put('add', registration);
    return answer.kind === 'taken' ? answer.by : null;
  }

  async replace(registration: StoredRegistration): Promise<boolean> {
    const answer = await this.#put('replace', registration);
    if (answer.kind !== 'taken') return answer.kind === 'done';
    const { claim, holder } = answer.by;
    throw new Error(`${registration.id} cannot be changed: ${holder} has ${claim}; unregister one of them`);
  }

  /** Here it holds at once. When the store does not answer it rejects, and is done there as soon as the store is back. */
  async remove(id: string): Promise<{ readonly unconfirmed: readonly string[] }> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const version = this.#nextVersion();
      this.#known.remove(id, version, this.#options.now());
      const waiting = this.#acknowledgements.listenFor(version);
      try {
        const answer = await this.#queries.remove(id, version, false);
        if (answer.kind === 'done') {
          this.#noteStored(version);
          return { unconfirmed: [...(await waiting.allOf(answer.others)), ...answer.quiet] };
        }
        if (answer.kind === 'old') this.#meet(answer.version);
      } finally {
        waiting.stop();
      }
    }
    throw tooManyAttempts();
  }

  extend(id: string, expiresAtMs: number): void {
    this.#extensions.extend(id, expiresAtMs);
  }

  /** A message of another gateway, or of this one: that it came says that all before it came too. */
  receive(channel: string, text: string): void {
    if (channel === this.channels.acknowledged) {
      const said = this.#queries.sealed.openAcknowledgement(this.#options.instance, text);
      if (said !== null) this.#acknowledgements.heard(said.version, said.from);
      else this.#options.onOddity('an acknowledgement that no gateway of this CA has written');
      return;
    }
    const change = this.#queries.sealed.openChange(text);
    if (change === null) {
      this.#options.onOddity('a change that no gateway of this CA has written');
      return;
    }
    const version = change.kind === 'put' ? change.put.version : change.version;
    this.#heard = Math.max(this.#heard, version);
    this.#noteStored(version);
    if (change.from === this.#options.instance) this.#takeBack(change);
    else void this.#apply(change).then((isApplied) => isApplied && this.#queries.acknowledge(change.from, version));
  }

  /**
   * Reads all there is, after a time in which changes may have been missed. What the store has lost is told again: removals
   * first, so that nobody who is gone is in the way, then whatever is missing and was not removed.
   */
  async reload(): Promise<void> {
    const before = this.#known.list();
    let version = await this.#queries.version();
    if (version < this.#stored) {
      this.#options.onOddity(changesWereLost);
      for (const one of this.#known.goneSince(version)) await this.#queries.remove(one.id, one.version, true);
      version = await this.#queries.version();
    }
    // Messages that come from now on make it higher again.
    this.#heard = version;
    this.#stored = version;
    this.#meet(version);
    const found = new Set<string>();
    await this.#queries.read(await this.#queries.ids(), (id, one) => {
      if (this.#load(id, one)) found.add(id);
    });
    // What came by message since then is newer than what was read.
    const isAsBefore = (one: VersionedRegistration) => this.#known.find(one.registration.id) === one;
    for (const one of before) {
      const { id } = one.registration;
      if (found.has(id) || !isAsBefore(one) || (await this.#isRestored(one))) continue;
      if (isAsBefore(one)) this.#known.forget(id);
    }
    this.sweep();
    void this.#emit({ kind: 'all', registrations: this.#known.list().map(({ registration }) => registration) });
  }

  sweep(): void {
    this.#known.sweep(this.#options.now());
  }

  close(): void {
    this.#extensions.close();
  }

  async #put(mode: 'add' | 'replace', registration: StoredRegistration): Promise<QueryAnswer> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const put = { version: this.#nextVersion(), registration };
      const waiting = this.#acknowledgements.listenFor(put.version);
      try {
        const answer = await this.#queries.put(mode, put, this.#known.find(registration.id)?.version);
        if (answer.kind === 'done') {
          this.#putOwn(put);
          await waiting.allOf(answer.others);
          // Removed by another gateway meanwhile, which this one has confirmed.
          if (!this.#known.isStill(put)) {
            if (mode === 'replace') return { kind: 'gone' };
            throw new StoreUnavailable(`${registration.id} was removed while it was being registered`);
          }
        }
        // Somebody else was faster: with what it has made, once more.
        if (answer.kind === 'changed')
          await this.#queries.read([registration.id], (id, one) => void this.#load(id, one));
        else if (answer.kind === 'old') this.#meet(answer.version);
        else return answer;
      } catch (error) {
        if (mode === 'add') this.#disown(put);
        throw error;
      } finally {
        waiting.stop();
      }
    }
    throw tooManyAttempts();
  }

  /** Redis may have taken what it did not answer to, or take it yet. Nobody was told so: in that version it is not to be. */
  #disown({ version, registration: { id } }: VersionedRegistration): void {
    if (this.#known.find(id) === undefined) this.#known.remove(id, version, this.#options.now());
  }

  /** One of its own that was disowned, and came late. */
  #takeBack(change: Announced): void {
    if (change.kind !== 'put') return;
    const { version, registration } = change.put;
    if (this.#known.goneWith(registration.id) === version) this.#removeAgain(registration.id);
  }

  /** Without waiting for others: one that was changed meanwhile is looked at again the next time. */
  async #extendOne(known: VersionedRegistration, expiresAtMs: number): Promise<void> {
    const put = { version: this.#nextVersion(), registration: { ...known.registration, expiresAtMs } };
    const answer = await this.#queries.put('replace', put, known.version);
    if (answer.kind === 'done') this.#putOwn(put);
    else if (answer.kind === 'old') this.#meet(answer.version);
  }

  #putOwn(put: VersionedRegistration): void {
    this.#noteStored(put.version);
    const outcome = this.#known.put(put);
    if (outcome.kind === 'new') for (const id of outcome.displaced) void this.#emit({ kind: 'gone', id });
  }

  /** The listener hears of it at once. Resolves when it holds here, in every process; false: it could not be applied. */
  async #apply(change: Announced): Promise<boolean> {
    if (change.kind === 'gone') {
      const { id, version } = change;
      this.#known.remove(id, version, this.#options.now());
      // Also of what is gone here already: workers may be about to let go of it.
      return this.#known.find(id) !== undefined || this.#emit({ kind: 'gone', id });
    }
    const { registration } = change.put;
    const outcome = this.#known.put(change.put);
    if (outcome.kind === 'revoked') this.#removeAgain(registration.id);
    if (outcome.kind !== 'new') return true;
    const gone = outcome.displaced.map((id) => this.#emit({ kind: 'gone', id }));
    const applied = await Promise.all([...gone, this.#emit({ kind: 'put', registration })]);
    return applied.every(Boolean);
  }

  async #emit(change: RegistrationChange): Promise<boolean> {
    try {
      await this.#listener(change);
      return true;
    } catch (error) {
      this.#options.onOddity('a change that could not be applied', error);
      return false;
    }
  }

  /** False: it is not to be believed, or over. */
  #load(id: string, found: VersionedRegistration | null): boolean {
    if (found === null) this.#options.onOddity('a registration that no gateway of this CA has written');
    if (found === null || found.registration.expiresAtMs <= this.#options.now()) return false;
    this.#meet(found.version);
    const outcome = this.#known.put(found);
    if (outcome.kind === 'revoked') this.#removeAgain(id);
    return outcome.kind !== 'revoked';
  }

  /** False: it is over, was removed, or somebody else has its claims by now. */
  async #isRestored(one: VersionedRegistration): Promise<boolean> {
    if (one.registration.expiresAtMs <= this.#options.now()) return false;
    const answer = await this.#queries.put('restore', one);
    if (answer.kind === 'done') this.#options.onOddity(changesWereLost);
    // Another gateway was faster.
    return answer.kind === 'done' || (answer.kind === 'taken' && answer.by.holder === one.registration.id);
  }

  /** Put back by whoever can write to the store, or never gone from it because it was away, or not acknowledged. */
  #removeAgain(id: string): void {
    this.#options.onOddity('a registration that was removed is there again: it is removed again');
    this.#queries.remove(id, this.#known.goneWith(id), true).catch(() => {});
  }

  /** Of two changes the later one is higher, also when it is made by a gateway whose clock is behind. */
  #nextVersion(): number {
    this.#highest = Math.max(this.#highest + 1, Math.floor(this.#options.now()));
    return this.#highest;
  }

  #noteStored(version: number): void {
    this.#stored = Math.max(this.#stored, version);
    this.#highest = Math.max(this.#highest, version);
  }

  #meet(version: number): void {
    // A number that no gateway comes to would leave none for the changes to come.
    if (version > Number.MAX_SAFE_INTEGER / 2) {
      throw new StoreUnavailable(
        `the version in the store (${version}) was written by no gateway: docs/store.md, Wiping`,
      );
    }
    this.#highest = Math.max(this.#highest, version);
  }
}

function tooManyAttempts(): StoreUnavailable {
  return new StoreUnavailable('the store was changed by others each time: try again');
}
