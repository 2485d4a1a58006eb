// Answers the store of one worker, in the gateway's own process. When the worker dies, its places and locks are free at
// once. Registrations go through `SharedRegistrations`, so that every worker hears of a change.
import { type SharedStore, StoreUnavailable } from '../../path/shared-store.ts';
import { createQuotaServer } from '../store/quota-server.ts';
import type { Handlers } from './channel.ts';
import type { Recall, RecalledLeases } from './recalled-leases.ts';
import type { SharedRegistrations } from './shared-registrations.ts';
import type { StoreVerbs } from './worker-verbs.ts';

export interface StoreServerParts {
  readonly store: Pick<SharedStore, 'meters' | 'tallies' | 'vault' | 'locks'>;
  readonly registrations: SharedRegistrations;
  /** Who asks, as `SharedRegistrations` knows it. */
  readonly worker: object;
  /** Whether it may register sandboxes. A worker of a gateway may not. */
  readonly mayRegister: boolean;
  readonly leases: RecalledLeases;
  /** Asks the worker for what it has in hand. */
  readonly recall: Recall;
}

export interface StoreServer {
  readonly handlers: Handlers<StoreVerbs>;
  /** The worker is gone. */
  gone(): void;
}

export function createStoreServer(parts: StoreServerParts): StoreServer {
  const { store, registrations, worker, mayRegister, leases } = parts;
  const quota = createQuotaServer(store.meters, store.tallies);
  leases.join(worker, parts.recall);
  const locks = new Map<number, () => void>();
  let lastTicket = 0;
  let isGone = false;

  /** Answers when the lock is had; it is let go of by `unlock`, or when the worker is gone. */
  const lock = (name: string, waitMs: number): Promise<{ readonly ticket: number }> =>
    new Promise((resolve, reject) => {
      const ticket = ++lastTicket;
      const held = store.locks.exclusively(name, waitMs, () => {
        if (isGone) return Promise.resolve();
        resolve({ ticket });
        return new Promise<void>((release) => locks.set(ticket, release));
      });
      held.catch(reject);
    });
  const unlock = (ticket: number): void => {
    locks.get(ticket)?.();
    locks.delete(ticket);
  };

  /** A worker that was not answered in time asks again. Both questions are here then, and the later one counts. */
  const saying = new Map<string, Promise<number>>();
  const inOrder = (key: string, say: () => Promise<number>): Promise<number> => {
    const said = (saying.get(key) ?? Promise.resolve(0)).then(say, say);
    const over = (): void => {
      if (saying.get(key) === said) saying.delete(key);
    };
    saying.set(key, said);
    said.then(over, over);
    return said;
  };

  return {
    handlers: {
      load: () => registrations.all(),
      add(registration) {
        if (!mayRegister) throw new StoreUnavailable('a worker registers nobody: that is done at the admin socket');
        return registrations.addFrom(worker, registration);
      },
      replace(registration) {
        if (!mayRegister) throw new StoreUnavailable('a worker renews nobody: that is done at the admin socket');
        return registrations.replaceFrom(worker, registration);
      },
      remove: ({ id }) => registrations.removeFrom(worker, id),
      extend(ends) {
        for (const [id, expiresAtMs] of ends) registrations.extendFrom(worker, id, expiresAtMs);
        return null;
      },
      async draw({ key, rate, least, wanted }) {
        const drawn = await quota.draw(key, rate, least, wanted);
        if (drawn.granted >= wanted) return drawn;
        const back = await leases.fromOthers(worker, key, 'rate');
        if (back === 0) return drawn;
        quota.giveBack(key, rate, back);
        const more = await quota.draw(key, rate, drawn.granted > 0 ? 1 : least, wanted - drawn.granted);
        return { granted: drawn.granted + more.granted, waitMs: more.waitMs };
      },
      giveBack({ key, rate, amount }) {
        quota.giveBack(key, rate, amount);
        return null;
      },
      spend: ({ key, rate, amount }) => quota.spend(key, rate, amount),
      places: ({ key, limit, held, wanted }) =>
        inOrder(key, async () => {
          const has = await quota.places(key, limit, held, wanted);
          if (has >= wanted || (await leases.fromOthers(worker, key, 'places')) === 0) return has;
          return quota.places(key, limit, held, wanted);
        }),
      tally: ({ key, own, keepMs }) => quota.report(key, own, keepMs, 0),
      async put({ key, value, keepMs }) {
        await store.vault.put(key, Buffer.from(value, 'base64'), keepMs);
        return null;
      },
      async get({ key }) {
        return (await store.vault.get(key))?.toString('base64') ?? null;
      },
      async forget({ key }) {
        await store.vault.remove(key);
        return null;
      },
      lock: ({ name, waitMs }) => lock(name, waitMs),
      unlock({ ticket }) {
        unlock(ticket);
        return null;
      },
    },
    gone() {
      isGone = true;
      leases.leave(worker);
      quota.gone();
      for (const ticket of [...locks.keys()]) unlock(ticket);
    },
  };
}
