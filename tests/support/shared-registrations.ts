// Several gateways on one store, in one process: each has a view of its own, hears what the others change, and can be cut off
// from the store. For tests of what a gateway makes of it; how a real store does it is tested with a real one.
import {
  type ClaimTaken,
  type RegistrationChange,
  type RegistrationStore,
  type StoreAway,
  type StoredRegistration,
  StoreUnavailable,
} from '../../src/path/shared-store.ts';
import { type RegistryOptions, SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import type { TestClock } from './memory-registry.ts';

export class SharedRegistrations {
  readonly held = new Map<string, StoredRegistration>();
  readonly views: View[] = [];

  tell(from: View, change: RegistrationChange): void {
    for (const view of this.views) if (view !== from && view.away === null) view.listener(change);
  }
}

export class View implements RegistrationStore {
  readonly #shared: SharedRegistrations;
  readonly #awayListeners = new Set<(away: StoreAway | null) => void>();
  readonly name: string;
  away: StoreAway | null = null;
  extended = 0;
  listener: (change: RegistrationChange) => void = () => {};

  constructor(shared: SharedRegistrations, name: string) {
    this.#shared = shared;
    this.name = name;
    shared.views.push(this);
  }

  get registrations(): RegistrationStore {
    return this;
  }

  onAway(listener: (away: StoreAway | null) => void): () => void {
    this.#awayListeners.add(listener);
    return () => this.#awayListeners.delete(listener);
  }

  leave(sinceMs = 0): void {
    this.away = { sinceMs, reason: 'connection refused' };
    for (const listener of this.#awayListeners) listener(this.away);
  }

  comeBack(): void {
    this.away = null;
    for (const listener of this.#awayListeners) listener(null);
    this.listener({ kind: 'all', registrations: [...this.#shared.held.values()] });
  }

  async load(): Promise<readonly StoredRegistration[]> {
    return [...this.#there().held.values()];
  }

  async add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    for (const held of this.#there().held.values()) {
      const claim = held.claims.find((one) => registration.claims.includes(one));
      if (claim !== undefined) return { claim, holder: held.id };
    }
    this.#put(registration);
    return null;
  }

  async replace(registration: StoredRegistration): Promise<boolean> {
    if (!this.#there().held.has(registration.id)) return false;
    this.#put(registration);
    return true;
  }

  async remove(id: string): Promise<{ unconfirmed: string[] }> {
    this.#there().held.delete(id);
    this.#shared.tell(this, { kind: 'gone', id });
    const silent = this.#shared.views.filter(({ away }) => away !== null);
    return { unconfirmed: silent.map(({ name }) => name) };
  }

  extend(id: string, expiresAtMs: number): void {
    this.extended++;
    const held = this.#shared.held.get(id);
    if (held !== undefined && this.away === null) this.#put({ ...held, expiresAtMs });
  }

  watch(listener: (change: RegistrationChange) => void): void {
    this.listener = listener;
  }

  #put(registration: StoredRegistration): void {
    this.#shared.held.set(registration.id, registration);
    this.#shared.tell(this, { kind: 'put', registration });
  }

  #there(): SharedRegistrations {
    if (this.away !== null) throw new StoreUnavailable('the store does not answer');
    return this.#shared;
  }
}

export interface SharingGateway {
  readonly registry: SandboxRegistry;
  readonly view: View;
  /** Ids, as they went. */
  readonly removed: string[];
  readonly failures: unknown[];
}

export async function openSharingGateway(
  shared: SharedRegistrations,
  name: string,
  clock: TestClock,
  over: Partial<RegistryOptions> & {
    readonly sharedAddresses?: () => boolean;
    readonly sinceStartMs?: () => number;
  } = {},
): Promise<SharingGateway> {
  const { sharedAddresses = () => false, sinceStartMs = () => 0, ...rest } = over;
  const view = new View(shared, name);
  const failures: unknown[] = [];
  const registry = await SandboxRegistry.open({
    store: view,
    sharing: { gateway: name, sharedAddresses, graceMs: () => 60_000, sinceStartMs },
    knownCredentials: () => new Set<string>(),
    socketDirectory: `/run/${name}`,
    now: clock.now,
    onFailure: (error) => failures.push(error),
    ...rest,
  });
  const removed: string[] = [];
  registry.onRemoved((id) => removed.push(id));
  return { registry, view, removed, failures };
}
