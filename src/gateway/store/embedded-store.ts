// The store of a gateway that shares nothing: all of it in this process, answered at once, and never away. Registrations are
// kept by whoever is handed in; everything else ends with the process.
import type { RegistrationStore, SharedStore } from '../../path/shared-store.ts';
import { LocalLocks } from './local-locks.ts';
import { LocalMeters } from './local-meters.ts';
import { LocalTallies } from './local-tallies.ts';
import { LocalVault } from './local-vault.ts';

export interface EmbeddedStoreOptions {
  readonly registrations: RegistrationStore;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

export interface EmbeddedStore extends SharedStore {
  readonly meters: LocalMeters;
  readonly tallies: LocalTallies;
}

export function createEmbeddedStore({ registrations, now }: EmbeddedStoreOptions): EmbeddedStore {
  return {
    name: 'embedded',
    away: null,
    gateways: 1,
    registrations,
    meters: new LocalMeters(now),
    tallies: new LocalTallies(now),
    vault: new LocalVault(now),
    locks: new LocalLocks(),
    onAway: () => () => {},
    close: () => Promise.resolve(),
  };
}
