// The store of a worker, in the process of the test: a channel to the gateway's store that goes through JSON, as between
// processes. It follows the registrations of the gateway from the beginning, as a real one does.

import { createIpcStore, type IpcStore } from '../../src/gateway/workers/ipc-store.ts';
import { readFromWorker } from '../../src/gateway/workers/read-from-worker.ts';
import type { RecalledLeases } from '../../src/gateway/workers/recalled-leases.ts';
import type { SharedRegistrations } from '../../src/gateway/workers/shared-registrations.ts';
import { createStoreServer, type StoreServer } from '../../src/gateway/workers/store-server.ts';
import type { StoreVerbs, ToWorker } from '../../src/gateway/workers/worker-verbs.ts';
import type { SharedStore } from '../../src/path/shared-store.ts';
import { pairedChannels } from '../unit/gateway/workers/paired-channels.ts';

type Told = Pick<ToWorker, 'changed' | 'recall'>;

export interface BesideWorkerParts {
  readonly store: Pick<SharedStore, 'meters' | 'tallies' | 'vault' | 'locks' | 'gateways'>;
  readonly registrations: SharedRegistrations;
  /** One for all workers of a gateway. */
  readonly leases: RecalledLeases;
  readonly mayRegister?: boolean;
}

export function besideWorker({ store, registrations, leases, mayRegister = true }: BesideWorkerParts): {
  readonly worker: IpcStore;
  readonly server: StoreServer;
} {
  const key = {};
  const server = createStoreServer({
    store,
    registrations,
    worker: key,
    mayRegister,
    leases,
    recall: (lease, kind) => primary.ask('recall', { key: lease, kind }),
  });
  const failed = (error: Error): never => {
    throw error;
  };
  let worker: IpcStore;
  const [primary, channel] = pairedChannels<StoreVerbs, Told>(
    { handlers: server.handlers, readers: readFromWorker, onNonsense: failed },
    {
      handlers: {
        changed: (change) => {
          worker.changed(change);
          return null;
        },
        recall: ({ key: lease, kind }) => worker.recall(lease, kind),
      },
      onNonsense: failed,
    },
  );
  worker = createIpcStore(channel, { name: 'a store', away: null, gateways: store.gateways, workers: 2 });
  registrations.follow(key, {
    name: 'a worker',
    changed: (change) => primary.ask('changed', change),
    end: () => Promise.resolve(),
  });
  return { worker, server };
}
