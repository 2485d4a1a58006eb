// The registrations of a gateway with workers: whatever is changed, by the gateway's own process, by another gateway or by a
// worker, all of its workers hear of, and what must hold everywhere is acknowledged only when it does. Keeps a copy, so that
// a worker that starts is told all of it in one go.
import { waitAtMost } from '../../kit/wait-at-most.ts';
import {
  type ClaimTaken,
  type RegistrationChange,
  type RegistrationStore,
  type SharedStore,
  type StoredRegistration,
  StoreUnavailable,
} from '../../path/shared-store.ts';

/** One who must hear of changes. */
export interface Follower {
  /** For people: `worker 2`. */
  readonly name: string;
  /** Resolves when it is done there; rejects when it is gone, and with it all its connections. */
  changed(change: RegistrationChange): Promise<unknown>;
  /** It does not do what it must. Resolves when it is no more. */
  end(): Promise<unknown>;
}

/** One that is being changed. */
interface Looked {
  readonly id: string;
  wasLetGo: boolean;
}

type Unconfirmed = { readonly unconfirmed: readonly string[] };

/** A worker that has not let go of a sandbox in this time is ended, and its connections with it. */
const answerWithinMs = 2_000;

export class SharedRegistrations implements RegistrationStore {
  readonly #inner: RegistrationStore;
  readonly #answerWithinMs: number;
  readonly #held = new Map<string, StoredRegistration>();
  /** By who asks: a worker is not told what it has said itself. */
  readonly #followers = new Map<object, Follower>();
  readonly #looked = new Set<Looked>();
  #listener: ((change: RegistrationChange) => unknown) | null = null;

  constructor(inner: RegistrationStore, withinMs = answerWithinMs) {
    this.#inner = inner;
    this.#answerWithinMs = withinMs;
  }

  async load(): Promise<readonly StoredRegistration[]> {
    const all = await this.#inner.load();
    this.#held.clear();
    for (const one of all) this.#held.set(one.id, one);
    return all;
  }

  add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    return this.addFrom(null, registration);
  }

  replace(registration: StoredRegistration): Promise<boolean> {
    return this.replaceFrom(null, registration);
  }

  remove(id: string): Promise<Unconfirmed> {
    return this.removeFrom(null, id);
  }

  extend(id: string, expiresAtMs: number): void {
    this.extendFrom(null, id, expiresAtMs);
  }

  /** For the gateway's own process. */
  watch(listener: (change: RegistrationChange) => unknown): void {
    this.#listener = listener;
    this.#inner.watch((change) => {
      const isLetGo = this.#keep(change);
      // Before the listener: what that makes of it (one that was removed here, removed again) comes to workers after it.
      const done = [...this.#followers.values()].map((follower) => this.#isDone(follower, change, isLetGo));
      listener(change);
      return Promise.all(done);
    });
  }

  /** The same store, with these registrations in place of its own. */
  within(store: SharedStore): Pick<SharedStore, 'registrations' | 'away' | 'onAway'> {
    return {
      registrations: this,
      get away() {
        return store.away;
      },
      onAway: (listener) => store.onAway(listener),
    };
  }

  /** All there is, for a worker that begins. */
  all(): StoredRegistration[] {
    return [...this.#held.values()];
  }

  /** From the very moment in which it is told `all`, so that it misses nothing. Returns how to stop. */
  follow(worker: object, follower: Follower): () => void {
    this.#followers.set(worker, follower);
    return () => this.#followers.delete(worker);
  }

  async addFrom(from: object | null, registration: StoredRegistration): Promise<ClaimTaken | null> {
    const taken = await this.#inner.add(registration);
    if (taken !== null) return taken;
    const isThere = await this.#whileThere(registration.id, async () => {
      await this.#spread(from, { kind: 'put', registration });
      return true;
    });
    if (!isThere) throw new StoreUnavailable(`${registration.id} was removed while it was being registered`);
    return null;
  }

  async replaceFrom(from: object | null, registration: StoredRegistration): Promise<boolean> {
    return this.#whileThere(registration.id, async (looked) => {
      if (!(await this.#inner.replace(registration)) || looked.wasLetGo) return false;
      await this.#spread(from, { kind: 'put', registration });
      return true;
    });
  }

  /** At once in all workers, and answered when they have let go, whatever becomes of it in the store. */
  async removeFrom(from: object | null, id: string): Promise<Unconfirmed> {
    const spreading = this.#spread(from, { kind: 'gone', id });
    const removing = this.#inner.remove(id);
    removing.catch(() => {});
    const unheard = await spreading;
    const { unconfirmed } = await removing;
    return { unconfirmed: [...unconfirmed, ...unheard] };
  }

  /** A renewal by traffic: nobody waits for it. */
  extendFrom(from: object | null, id: string, expiresAtMs: number): void {
    const held = this.#held.get(id);
    if (held === undefined || held.expiresAtMs >= expiresAtMs) return;
    this.#inner.extend(id, expiresAtMs);
    void this.#spread(from, { kind: 'put', registration: { ...held, expiresAtMs } });
  }

  /** False also when it was let go of meanwhile: workers have heard of that last. */
  async #whileThere(id: string, act: (looked: Looked) => Promise<boolean>): Promise<boolean> {
    const looked: Looked = { id, wasLetGo: false };
    this.#looked.add(looked);
    try {
      return (await act(looked)) && !looked.wasLetGo;
    } finally {
      this.#looked.delete(looked);
    }
  }

  /** Names those of whom it is not known that they have done it. */
  async #spread(from: object | null, change: RegistrationChange): Promise<string[]> {
    const isLetGo = this.#keep(change);
    if (from !== null) this.#listener?.(change);
    const others = [...this.#followers].filter(([worker]) => worker !== from).map(([, follower]) => follower);
    const answers = await Promise.all(others.map((follower) => this.#isDone(follower, change, isLetGo)));
    return others.filter((_, index) => !answers[index]).map(({ name }) => name);
  }

  async #isDone(follower: Follower, change: RegistrationChange, isLetGo: boolean): Promise<boolean> {
    // One that is gone serves nobody.
    const done = follower.changed(change).then(
      () => true,
      () => true,
    );
    const isDone = await waitAtMost(done, this.#answerWithinMs, () => false);
    if (isDone || !isLetGo) return isDone;
    // Busy or stopped, it may still pass on what the sandbox sends.
    await follower.end();
    return true;
  }

  /** Whether workers must let go of somebody. */
  #keep(change: RegistrationChange): boolean {
    if (change.kind === 'put') {
      this.#held.set(change.registration.id, change.registration);
      return false;
    }
    const there = new Map(change.kind === 'gone' ? [] : change.registrations.map((one) => [one.id, one]));
    const gone = change.kind === 'gone' ? [change.id] : [...this.#held.keys()].filter((id) => !there.has(id));
    for (const id of gone) this.#held.delete(id);
    for (const one of this.#looked) if (gone.includes(one.id)) one.wasLetGo = true;
    for (const [id, one] of there) this.#held.set(id, one);
    return gone.length > 0;
  }
}
