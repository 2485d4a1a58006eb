// Which sandboxes exist: what the store holds, as far as this process knows, in memory. A change is with the store before it
// is acknowledged. An address or an id that is in use is a conflict, never a take-over. Reading is synchronous and cheap:
// every request does it.
import {
  type SharedStore,
  type StoreAway,
  type StoredRegistration,
  StoreUnavailable,
} from '../../../path/shared-store.ts';
import { conflictOver } from './conflict-over.ts';
import { lifetimeMs, type MadeRecord, makeRecord } from './make-record.ts';
import { type KnownNames, type RegistrationRequest, readRegistration } from './registration.ts';
import { RegistrationError } from './registration-error.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { type AddressSharing, type ReplicaOptions, SandboxReplica } from './sandbox-replica.ts';
import { type AddressScope, claimsOf, toRegistration } from './stored-registration.ts';

const sweepEveryMs = 30_000;
/** So much later an end must be before the store hears of it: renewals by traffic come with every request. */
const tellEveryMs = 1_000;
/** A timer may be a little early. */
const lapseAfterMs = 20;
/** A reload may make the grace shorter or longer while it lasts. */
const lookAgainMs = 1_000;

export interface RegistryOptions extends ReplicaOptions {
  readonly store: Pick<SharedStore, 'registrations' | 'away' | 'onAway'>;
  readonly sharing?: Sharing;
  /** The names a registration may list: those that are configured at that moment. */
  readonly knownCredentials: () => KnownNames;
}

/** Asks Docker about the container of a registration and fills in what it says. */
export type RegistrationWitness = (asked: RegistrationRequest) => Promise<RegistrationRequest>;

export interface Sharing extends AddressSharing {
  /** How long sandboxes that were identified here are served while the store is away. */
  readonly graceMs: () => number;
  /** The clock of `StoreAway.sinceMs`; absent: `performance.now()`. */
  readonly sinceStartMs?: () => number;
}

export interface Removed {
  /** Who may still serve it: gateways that have not confirmed that it is gone. */
  readonly unconfirmed: readonly string[];
}

export class SandboxRegistry extends SandboxReplica {
  readonly #options: RegistryOptions;
  readonly #sharing: Sharing | null;
  /** What registrations claim that are being made, and their ids. */
  readonly #underWay = new Map<string, string>();
  readonly #lapseListeners = new Set<(id: string) => void>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #stopListening: () => void;
  #graceEnd: NodeJS.Timeout | null = null;
  #witness: RegistrationWitness | null = null;

  private constructor(options: RegistryOptions) {
    super(options);
    this.#options = options;
    this.#sharing = options.sharing ?? null;
    this.#sweeper = setInterval(() => this.sweep(), sweepEveryMs);
    this.#sweeper.unref();
    this.#stopListening = options.store.onAway((away) => this.#timeGrace(away));
    // The process of a worker may begin while it is away.
    this.#timeGrace(options.store.away);
  }

  /** With what the store holds. What has expired meanwhile stays out. */
  static async open(options: RegistryOptions): Promise<SandboxRegistry> {
    const registry = new SandboxRegistry(options);
    try {
      await registry.fill();
    } catch (error) {
      registry.close();
      throw error;
    }
    return registry;
  }

  /** Until there is one, no container can be registered. */
  useWitness(witness: RegistrationWitness): void {
    this.#witness = witness;
  }

  /** Set while the store cannot say whether a registration holds. */
  get away(): StoreAway | null {
    return this.#options.store.away;
  }

  /** Validates, tells the store, then acknowledges. Throws RegistrationError (400, 503) or ConflictError (409). */
  async register(input: unknown): Promise<MadeRecord> {
    const given = readRegistration(input, { knownCredentials: this.#options.knownCredentials(), nowMs: this.now() });
    const asked = given.containerId === null ? given : await this.#witnessed(given);
    const made = makeRecord(asked, this.#options.socketDirectory, this.now(), this.#sharing?.gateway);
    made.record.claims = claimsOf(made.record.toStored(), this.#addressScope());
    const registration = toRegistration(made.record);
    this.#refuseConflicts(asked, registration);
    for (const claim of registration.claims) this.#underWay.set(claim, made.record.id);
    try {
      // A door in a namespace and its CA live as long as this process does, and so does their sandbox's registration.
      if (made.record.namespacePid === null) {
        const taken = await acknowledged(this.store.add(registration), `${made.record.id} is not registered`);
        if (taken !== null) throw conflictOver(taken, asked);
      }
    } finally {
      for (const claim of registration.claims) this.#underWay.delete(claim);
    }
    // The store may announce the change before it answers the call.
    const told = this.index.byId(made.record.id);
    if (told !== undefined) this.index.delete(told);
    this.index.insert(made.record);
    this.welcome(made.record);
    return made;
  }

  /** A container name that nobody has checked would be believed by its readers. */
  async #witnessed(asked: RegistrationRequest): Promise<RegistrationRequest> {
    if (this.#witness === null) {
      throw new RegistrationError('docker.unavailable', 'this gateway does not ask Docker about containers', {
        hint: 'Leave container_id out; an id of your own choice goes into id.',
      });
    }
    return this.#witness(asked);
  }

  /** Another 24 hours from now. Throws when there is no such sandbox, or its `expires_at` was given. */
  async renew(idOrIp: string): Promise<SandboxRecord> {
    const record = this.find(idOrIp);
    if (record === null) throw notRegistered(idOrIp);
    if (record.expiryIsFinal) {
      const until = new Date(record.expiresAtMs).toISOString();
      const what = `${record.id} was registered until ${until}, which is final`;
      throw new RegistrationError('sandbox.expiry-is-final', what, {
        hint: 'Unregister it and register it again with another expires_at, or without one.',
      });
    }
    const expiresAtMs = Math.max(record.expiresAtMs, this.now() + lifetimeMs);
    if (record.namespacePid === null) {
      const isKept = await acknowledged(
        this.store.replace(toRegistration(record, expiresAtMs)),
        `${record.id} is not renewed`,
      );
      if (!isKept) this.drop(record);
    }
    if (!this.holds(record)) throw notRegistered(idOrIp);
    record.expiresAtMs = Math.max(record.expiresAtMs, expiresAtMs);
    record.storedExpiresAtMs = record.expiresAtMs;
    return record;
  }

  /** Takes effect here at once, and resolves when it is with the store. Null: there was none. */
  async remove(idOrIp: string): Promise<Removed | null> {
    const record = this.find(idOrIp);
    if (record === null) return null;
    this.gone.note(record, true);
    this.drop(record);
    if (record.namespacePid !== null) return { unconfirmed: [] };
    try {
      return await this.store.remove(record.id);
    } catch (error) {
      // It is removed there as soon as the store tells of it again.
      if (error instanceof StoreUnavailable) return { unconfirmed: [`all other gateways (${error.message})`] };
      const what = `${record.id} is unregistered, but would come back at a restart`;
      throw new RegistrationError('registry.unwritable', what, {
        hint: 'The registry could not be written. Make room on the disk; the gateway tries again every minute.',
        cause: error,
      });
    }
  }

  /** Whether it is served although the store is away: as one that this gateway has known, and for a while only. */
  isVouchedFor(record: SandboxRecord, { sinceMs }: StoreAway): boolean {
    if (record.namespacePid !== null) return true;
    const sharing = this.#sharing;
    if (sharing === null || !record.wasIdentified) return false;
    return this.#sinceStartMs() - sinceMs <= sharing.graceMs();
  }

  /** Those that were identified here while the store was there: whom it vouches for when it is away. */
  get identified(): string[] {
    return this.list().flatMap((record) => (record.wasIdentified ? [record.id] : []));
  }

  /** Another process of this gateway has identified it. */
  noteIdentified(id: string): void {
    const record = this.lookUpId(id);
    if (record !== undefined) record.wasIdentified = true;
  }

  /** Traffic renews a registration that has no expiry of its own. Called for every request: no more than a store. */
  touch(record: SandboxRecord): void {
    if (this.away === null) record.wasIdentified = true;
    if (record.expiryIsFinal) return;
    const expiresAtMs = this.now() + lifetimeMs;
    // A clock that was set back takes nothing from what was given.
    if (expiresAtMs > record.expiresAtMs) record.expiresAtMs = expiresAtMs;
    if (expiresAtMs - record.storedExpiresAtMs < tellEveryMs || record.namespacePid !== null) return;
    record.storedExpiresAtMs = expiresAtMs;
    this.store.extend(record.id, expiresAtMs);
  }

  /** An expired sandbox was met: from now on it is unknown. */
  expire(record: SandboxRecord): void {
    if (!this.holds(record)) return;
    this.gone.note(record, false);
    this.drop(record);
    // Another gateway may know of a later end, or have a better clock: the store itself forgets what is over.
    if (this.#sharing !== null || record.namespacePid !== null) return;
    this.store.remove(record.id).catch((error: unknown) => this.onFailure(error));
  }

  sweep(): void {
    for (const record of [...this.index.all()]) if (this.hasExpired(record)) this.expire(record);
  }

  /**
   * Called with the id of every sandbox that is not served any longer because the store is away: what it has open must end
   * too. It is registered as before. Returns how to stop listening.
   */
  onLapsed(listener: (id: string) => void): () => void {
    this.#lapseListeners.add(listener);
    return () => this.#lapseListeners.delete(listener);
  }

  /** The store is closed by who has opened it. */
  close(): void {
    clearInterval(this.#sweeper);
    this.#stopListening();
    this.#timeGrace(null);
  }

  /** Checks again while the store is away: the operator may lengthen the grace period, and it can end again later. */
  #timeGrace(away: StoreAway | null, hasLapsed = false): void {
    if (this.#graceEnd !== null) clearTimeout(this.#graceEnd);
    this.#graceEnd = null;
    if (away === null) return;
    const look = (): void => {
      const isOver = this.#graceLeftMs(away) < 0;
      if (isOver && !hasLapsed) this.#lapse(away);
      this.#timeGrace(away, isOver);
    };
    const soonestMs = hasLapsed ? lookAgainMs : 0;
    const leftMs = Math.min(Math.max(soonestMs, this.#graceLeftMs(away)), lookAgainMs);
    this.#graceEnd = setTimeout(look, leftMs + lapseAfterMs).unref();
  }

  #graceLeftMs({ sinceMs }: StoreAway): number {
    return sinceMs + (this.#sharing?.graceMs() ?? 0) - this.#sinceStartMs();
  }

  #sinceStartMs(): number {
    return this.#sharing?.sinceStartMs?.() ?? performance.now();
  }

  #lapse(away: StoreAway): void {
    for (const record of this.list()) {
      if (!this.isVouchedFor(record, away)) this.tell(this.#lapseListeners, record.id);
    }
  }

  #addressScope(): AddressScope {
    return this.#sharing === null || this.#sharing.sharedAddresses() ? null : this.#sharing.gateway;
  }

  #refuseConflicts(asked: RegistrationRequest, { claims }: StoredRegistration): void {
    const { id, containerIp, containerId } = asked;
    const inTheWay: [string, SandboxRecord | undefined][] = [
      [`id ${id}`, id === null ? undefined : this.index.byId(id)],
      [`ip ${containerIp}`, containerIp === null ? undefined : this.index.byAddress(containerIp)],
      [`container ${containerId}`, containerId === null ? undefined : this.index.byContainer(containerId)],
    ];
    // With its doors: in a namespace the next one would find its ports taken.
    for (const [, held] of inTheWay) if (held !== undefined && this.hasExpired(held)) this.expire(held);
    for (const [claim, held] of inTheWay) {
      if (held !== undefined && this.holds(held)) throw conflictOver({ claim, holder: held.id }, asked);
    }
    for (const claim of claims) {
      const holder = this.#underWay.get(claim);
      if (holder !== undefined) throw conflictOver({ claim, holder }, asked);
    }
  }
}

function notRegistered(idOrIp: string): RegistrationError {
  return new RegistrationError('sandbox.not-found', `no live sandbox is registered as ${idOrIp}`, {
    hint: 'sallyport list shows those there are; one that has expired must be registered again.',
  });
}

/** Nothing is acknowledged that the store has not. */
async function acknowledged<T>(change: Promise<T>, what: string): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new RegistrationError('store.unavailable', `${what}: ${error.message}`, {
      hint: 'The store that the gateways share does not answer: see `store` in the configuration, then try again.',
      cause: error,
    });
  }
}
