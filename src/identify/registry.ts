// Which sandboxes exist, in memory, with a backup that is written before a change is acknowledged. An address or an
// id that is in use is a conflict, never a take-over. Reading is synchronous and cheap: every request does it.
import { canonicalAddress } from './canonical-address.ts';
import { lifetimeMs, makeRecord, type Registered, socketPathOf } from './make-record.ts';
import { type KnownNames, type Registration, readRegistration } from './registration.ts';
import { ConflictError, RegistrationError } from './registration-error.ts';
import type { RegistryBackup } from './registry-backup.ts';
import { isFoundByName, SandboxRecord } from './sandbox-record.ts';

const sweepEveryMs = 30_000;
// Renewals by traffic may be lost for a minute by a crash: that shortens a day by a minute, and never lengthens it.
const lazyWriteMs = 60_000;

export interface RegistryOptions {
  readonly backup: RegistryBackup;
  /** The names a registration may list: those that are configured at that moment. */
  readonly knownCredentials: () => KnownNames;
  /** Where private sockets live; a directory that holds nothing else. */
  readonly socketDirectory: string;
  /** Asks Docker about the container of a registration and fills in what it says. Absent: no container can be registered. */
  readonly witness?: (asked: Registration) => Promise<Registration>;
  readonly now?: () => number;
  /** A backup that nobody waits for could not be written, or a listener threw. */
  readonly onFailure?: (error: unknown) => void;
}

export class SandboxRegistry {
  readonly now: () => number;
  readonly #options: RegistryOptions;
  /** In order of registration. */
  readonly #byId = new Map<string, SandboxRecord>();
  readonly #byAddress = new Map<string, SandboxRecord>();
  readonly #listeners = new Set<(id: string) => void>();
  readonly #welcomers = new Set<(record: SandboxRecord) => void>();
  readonly #sweeper: NodeJS.Timeout;
  #foundByName = 0;
  #lazyWrite: NodeJS.Timeout | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: RegistryOptions) {
    this.#options = options;
    this.now = options.now ?? Date.now;
    this.#sweeper = setInterval(() => this.sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  /** Loads what the backup holds; what has expired meanwhile stays out. */
  static async open(options: RegistryOptions): Promise<SandboxRegistry> {
    const stored = await options.backup.load();
    const registry = new SandboxRegistry(options);
    for (const one of stored) {
      const record = new SandboxRecord(one, socketPathOf(options.socketDirectory, one));
      if (!registry.hasExpired(record)) registry.#insert(record);
    }
    return registry;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Whether some sandbox can be found by what a caller sends alone, so that a caller is worth a challenge. */
  get anyFoundByName(): boolean {
    return this.#foundByName > 0;
  }

  /** Validates, writes, then acknowledges. Throws RegistrationError (400) or ConflictError (409). */
  async register(input: unknown): Promise<Registered> {
    const given = readRegistration(input, { knownCredentials: this.#options.knownCredentials(), nowMs: this.now() });
    // Not in turn: a Docker that is slow must hold up nobody else.
    const asked = given.containerId === null ? given : await this.#witnessed(given);
    return this.#inTurn(async () => {
      this.#refuseConflicts(asked);
      const made = makeRecord(asked, this.#options.socketDirectory, this.now());
      // What is not kept over a restart need not be written first.
      if (made.record.namespacePid === null) await this.#save(made.record);
      this.#insert(made.record);
      this.#tell(this.#welcomers, made.record);
      return made;
    });
  }

  /** The name of a container that nobody has looked at would be believed by whoever reads it. */
  async #witnessed(asked: Registration): Promise<Registration> {
    if (this.#options.witness === undefined) {
      throw new RegistrationError('docker.unavailable', 'this gateway does not ask Docker about containers', {
        hint: 'Leave container_id out; an id of your own choice goes into id.',
      });
    }
    return this.#options.witness(asked);
  }

  /** Another 24 hours from now. Throws when there is no such sandbox, or its `expires_at` was given. */
  async renew(idOrIp: string): Promise<SandboxRecord> {
    return this.#inTurn(async () => {
      const record = this.find(idOrIp);
      if (record === null) {
        throw new RegistrationError('sandbox.not-found', `no live sandbox is registered as ${idOrIp}`, {
          hint: 'sallyport list shows those there are; one that has expired must be registered again.',
        });
      }
      if (record.expiryIsFinal) {
        const until = new Date(record.expiresAtMs).toISOString();
        throw new RegistrationError(
          'sandbox.expiry-is-final',
          `${record.id} was registered until ${until}, which is final`,
          {
            hint: 'Unregister it and register it again with another expires_at, or without one.',
          },
        );
      }
      record.expiresAtMs = this.now() + lifetimeMs;
      await this.#save();
      return record;
    });
  }

  /** Takes effect at once and resolves when it is on the disk. False: there was none. */
  async remove(idOrIp: string): Promise<boolean> {
    const record = this.find(idOrIp);
    if (record === null) return false;
    this.#drop(record);
    try {
      await this.#inTurn(() => this.#save());
    } catch (error) {
      this.#saveLazily();
      throw new RegistrationError(
        'registry.unwritable',
        `${record.id} is unregistered, but would come back at a restart`,
        {
          hint: 'The registry could not be written. Make room on the disk; the gateway tries again every minute.',
          cause: error,
        },
      );
    }
    return true;
  }

  /** The live sandbox of that id or address. */
  find(idOrIp: string): SandboxRecord | null {
    const address = canonicalAddress(idOrIp);
    const record = this.#byId.get(idOrIp) ?? (address === null ? undefined : this.#byAddress.get(address));
    return record === undefined || this.hasExpired(record) ? null : record;
  }

  list(): SandboxRecord[] {
    return [...this.#byId.values()].filter((record) => !this.hasExpired(record));
  }

  /** For the identify stage: may be one that has just expired. */
  lookUpId(id: string): SandboxRecord | undefined {
    return this.#byId.get(id);
  }

  /** For the identify stage: `address` in canonical form; may be one that has just expired. */
  lookUpAddress(address: string): SandboxRecord | undefined {
    return this.#byAddress.get(address);
  }

  /** The very object that is registered now: not removed, not replaced by a later registration of the same id. */
  holds(record: SandboxRecord): boolean {
    return this.#byId.get(record.id) === record;
  }

  hasExpired(record: SandboxRecord): boolean {
    return record.expiresAtMs <= this.now();
  }

  /** Traffic renews a registration that has no expiry of its own. Called for every request: no more than a store. */
  touch(record: SandboxRecord): void {
    if (record.expiryIsFinal) return;
    record.expiresAtMs = this.now() + lifetimeMs;
    this.#saveLazily();
  }

  /** An expired sandbox was met: from now on it is unknown. */
  expire(record: SandboxRecord): void {
    if (!this.holds(record)) return;
    this.#drop(record);
    this.#saveLazily();
  }

  sweep(): void {
    for (const record of this.#byId.values()) if (this.hasExpired(record)) this.expire(record);
  }

  /** Called with the id of every sandbox that goes, however it goes. Returns how to stop listening. */
  onRemoved(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called with every sandbox that is registered, but not with those of the backup. Returns how to stop listening. */
  onRegistered(listener: (record: SandboxRecord) => void): () => void {
    this.#welcomers.add(listener);
    return () => this.#welcomers.delete(listener);
  }

  /** Stops the timers and writes what traffic has renewed. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    if (this.#lazyWrite !== null) {
      clearTimeout(this.#lazyWrite);
      this.#lazyWrite = null;
      await this.#inTurn(() => this.#save());
    }
    await this.#turn.catch(() => {});
  }

  #refuseConflicts(asked: Registration): void {
    const sameId = asked.id === null ? undefined : this.#byId.get(asked.id);
    const sameAddress = asked.containerIp === null ? undefined : this.#byAddress.get(asked.containerIp);
    const sameContainer =
      asked.containerId === null
        ? undefined
        : [...this.#byId.values()].find((held) => held.containerId === asked.containerId);
    // With its doors: in a namespace the next one would find its ports taken.
    for (const held of [sameId, sameAddress, sameContainer]) {
      if (held !== undefined && this.hasExpired(held)) this.expire(held);
    }
    if (sameId !== undefined && this.holds(sameId)) {
      throw new ConflictError(
        `the id ${sameId.id} is in use`,
        `Choose another id, or first run: sallyport unregister ${sameId.id}`,
      );
    }
    if (sameAddress !== undefined && this.holds(sameAddress)) {
      throw new ConflictError(
        `the address ${sameAddress.containerIp} is in use by ${sameAddress.id}`,
        `A live registration is never taken over. If that sandbox is gone, first run: sallyport unregister ${sameAddress.id}`,
      );
    }
    if (sameContainer !== undefined && this.holds(sameContainer)) {
      throw new ConflictError(
        `the container ${asked.container?.name ?? asked.containerId} is registered as ${sameContainer.id}`,
        `To register it anew, first run: sallyport unregister ${sameContainer.id}`,
      );
    }
  }

  #insert(record: SandboxRecord): void {
    this.#byId.set(record.id, record);
    if (record.containerIp !== null) this.#byAddress.set(record.containerIp, record);
    if (isFoundByName(record)) this.#foundByName++;
  }

  #drop(record: SandboxRecord): void {
    this.#byId.delete(record.id);
    if (record.containerIp !== null) this.#byAddress.delete(record.containerIp);
    if (isFoundByName(record)) this.#foundByName--;
    this.#tell(this.#listeners, record.id);
  }

  #tell<T>(listeners: ReadonlySet<(what: T) => void>, what: T): void {
    for (const listener of listeners) {
      try {
        listener(what);
      } catch (error) {
        this.#options.onFailure?.(error);
      }
    }
  }

  #save(added?: SandboxRecord): Promise<void> {
    const records = added === undefined ? [...this.#byId.values()] : [...this.#byId.values(), added];
    // A door in a namespace and its CA live as long as this process does, and so does their sandbox's registration.
    const kept = records.filter(({ namespacePid }) => namespacePid === null);
    return this.#options.backup.save(kept.map((record) => record.toStored()));
  }

  #saveLazily(): void {
    if (this.#lazyWrite !== null) return;
    this.#lazyWrite = setTimeout(() => {
      this.#lazyWrite = null;
      this.#inTurn(() => this.#save()).catch((error: unknown) => {
        this.#options.onFailure?.(error);
        this.#saveLazily();
      });
    }, lazyWriteMs);
    this.#lazyWrite.unref();
  }

  /** One change at a time: two registrations of one address cannot both find it free. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(change, change);
    this.#turn = result.catch(() => {});
    return result;
  }
}
