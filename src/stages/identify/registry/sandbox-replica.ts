// What this process knows of the registrations in the store: reading them is synchronous and cheap, every request does it.
// Follows what other gateways and workers change; what they have ended ends here too, with its connections. Changes nothing
// in the store but what was ended here while the store was away.
import { canonicalAddress } from '../../../kit/canonical-address.ts';
import { NewestMap } from '../../../kit/newest-map.ts';
import type { RegistrationChange, RegistrationStore, StoredRegistration } from '../../../path/shared-store.ts';
import { socketPathOf } from './make-record.ts';
import { SandboxIndex } from './sandbox-index.ts';
import { SandboxRecord, type StoredSandbox } from './sandbox-record.ts';
import { readRegistered } from './stored-registration.ts';

export interface ReplicaOptions {
  readonly store: { readonly registrations: RegistrationStore };
  /** Absent: no other gateway has this store. */
  readonly sharing?: AddressSharing;
  /** Where private sockets live; a directory that holds nothing else. */
  readonly socketDirectory: string;
  readonly now?: () => number;
  /** What nobody waits for could not be written, what the store holds could not be read, or a listener threw. */
  readonly onFailure?: (error: unknown) => void;
}

export interface AddressSharing {
  /** The name of this gateway: no other of the same store has it. */
  readonly gateway: string;
  /** The operator's word that an address is the same sandbox on every machine. */
  readonly sharedAddresses: () => boolean;
}

export class SandboxReplica {
  readonly now: () => number;
  protected readonly index: SandboxIndex;
  protected readonly gone = new GoneRegistrations();
  protected readonly store: RegistrationStore;
  protected readonly onFailure: (error: unknown) => void;
  readonly #socketDirectory: string;
  readonly #gateway: string | null;
  readonly #listeners = new Set<(id: string) => void>();
  readonly #welcomers = new Set<(record: SandboxRecord) => void>();

  protected constructor({ store, sharing, socketDirectory, now = Date.now, onFailure = () => {} }: ReplicaOptions) {
    this.store = store.registrations;
    this.now = now;
    this.onFailure = onFailure;
    this.#socketDirectory = socketDirectory;
    this.#gateway = sharing?.gateway ?? null;
    this.index = new SandboxIndex(this.#gateway, () => sharing?.sharedAddresses() ?? false);
  }

  /** Takes what the store holds, and from then on what others change. What has expired meanwhile stays out. */
  protected async fill(): Promise<void> {
    // What changes while the rest is read is newer than what is read.
    let meanwhile: RegistrationChange[] | null = [];
    this.store.watch((change) => {
      if (meanwhile === null) this.#follow(change);
      else meanwhile.push(change);
    });
    for (const one of await this.store.load()) this.#take(one);
    for (const change of meanwhile) this.#follow(change);
    meanwhile = null;
  }

  get size(): number {
    return this.index.size;
  }

  get anyFoundByName(): boolean {
    return this.index.anyFoundByName;
  }

  /** The live sandbox of that id or address. */
  find(idOrIp: string): SandboxRecord | null {
    const address = canonicalAddress(idOrIp);
    const record = this.index.byId(idOrIp) ?? (address === null ? undefined : this.index.byAddress(address));
    return record === undefined || this.hasExpired(record) ? null : record;
  }

  list(): SandboxRecord[] {
    return [...this.index.all()].filter((record) => !this.hasExpired(record));
  }

  /** Those that were registered with this gateway. */
  listOwn(): SandboxRecord[] {
    return this.list().filter((record) => this.isOwn(record));
  }

  isOwn(record: SandboxRecord): boolean {
    return this.index.isOwn(record);
  }

  isFoundByName(record: SandboxRecord): boolean {
    return this.index.isFoundByName(record);
  }

  /** For the identify stage: may be one that has just expired. */
  lookUpId(id: string): SandboxRecord | undefined {
    return this.index.byId(id);
  }

  /** For the identify stage: `address` in canonical form; may be one that has just expired. */
  lookUpAddress(address: string): SandboxRecord | undefined {
    return this.index.byAddress(address);
  }

  /** The very object that is registered now: not removed, not replaced by a later registration of the same id. */
  holds(record: SandboxRecord): boolean {
    return this.index.byId(record.id) === record;
  }

  hasExpired(record: SandboxRecord): boolean {
    return record.expiresAtMs <= this.now();
  }

  /** Called with the id of every sandbox that goes, however it goes. Returns how to stop listening. */
  onRemoved(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called with every sandbox that is registered here, but not with those of the store. Returns how to stop listening. */
  onRegistered(listener: (record: SandboxRecord) => void): () => void {
    this.#welcomers.add(listener);
    return () => this.#welcomers.delete(listener);
  }

  /** What others have changed. */
  #follow(change: RegistrationChange): void {
    if (change.kind === 'put') this.#take(change.registration);
    else if (change.kind === 'gone') this.#dropStored(this.index.byId(change.id));
    else {
      const there = new Set(change.registrations.map(({ id }) => id));
      for (const record of [...this.index.all()]) if (!there.has(record.id)) this.#dropStored(record);
      for (const one of change.registrations) if (this.#take(one) === 'removed') this.#removeAgain(one.id);
    }
  }

  #take(registration: StoredRegistration): ReplicaStanding | null {
    let stored: StoredSandbox;
    try {
      stored = readRegistered(registration);
    } catch (error) {
      this.onFailure(error);
      return null;
    }
    const verdict = this.gone.judge(registration, stored);
    const held = this.index.byId(stored.id);
    // What is in a namespace of this host is known to nobody else.
    if (verdict !== 'new' || (held !== undefined && held.namespacePid !== null)) return verdict;
    if (held?.createdAt === stored.created_at) {
      held.expiresAtMs = Math.max(held.expiresAtMs, Date.parse(stored.expires_at));
      return verdict;
    }
    this.#dropStored(held);
    const isOwn = stored.gateway === undefined || stored.gateway === this.#gateway;
    // The socket of another gateway is a file on another machine.
    const record = new SandboxRecord(stored, isOwn ? socketPathOf(this.#socketDirectory, stored) : null);
    record.claims = registration.claims;
    if (!this.hasExpired(record)) this.index.insert(record);
    return verdict;
  }

  /** The store was away when it was removed here. */
  #removeAgain(id: string): void {
    this.store.remove(id).catch((error: unknown) => this.onFailure(error));
  }

  #dropStored(record: SandboxRecord | undefined): void {
    if (record !== undefined && record.namespacePid === null) this.drop(record);
  }

  protected drop(record: SandboxRecord): void {
    this.index.delete(record);
    this.tell(this.#listeners, record.id);
  }

  protected welcome(record: SandboxRecord): void {
    this.tell(this.#welcomers, record);
  }

  protected tell<T>(listeners: ReadonlySet<(what: T) => void>, what: T): void {
    for (const listener of listeners) {
      try {
        listener(what);
      } catch (error) {
        this.onFailure(error);
      }
    }
  }
}

// Tombstones: remembers which registrations have ended, so that a clock that is set back, or a store that has not heard of
// the end yet, does not bring one back. Bounded: the oldest are forgotten first.
const maxRemembered = 10_000;

interface Gone {
  readonly createdAt: string;
  /** It was removed here; false: its time was over. */
  readonly wasRemoved: boolean;
  readonly expiresAtMs: number;
}

type ReplicaStanding = 'new' | 'over' | 'removed';

class GoneRegistrations {
  readonly #gone = new NewestMap<string, Gone>(maxRemembered);

  note({ id, createdAt, expiresAtMs }: SandboxRecord, wasRemoved: boolean): void {
    this.#gone.set(id, { createdAt, expiresAtMs, wasRemoved });
  }

  /** Of one whose time was over here, another gateway may have moved the end. */
  judge({ id, expiresAtMs }: StoredRegistration, { created_at: createdAt }: StoredSandbox): ReplicaStanding {
    const gone = this.#gone.get(id);
    if (gone === undefined || gone.createdAt !== createdAt) return 'new';
    if (gone.wasRemoved) return 'removed';
    return expiresAtMs > gone.expiresAtMs ? 'new' : 'over';
  }
}
