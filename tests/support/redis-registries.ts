// What pretend gateways on one Redis make of its registrations: a registry each, and one more in a worker beside it.

import { RecalledLeases } from '../../src/gateway/workers/recalled-leases.ts';
import { SharedRegistrations } from '../../src/gateway/workers/shared-registrations.ts';
import type { SharedStore } from '../../src/path/shared-store.ts';
import { SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import { afterThisFile } from './after-this-file.ts';
import { besideWorker } from './beside-worker.ts';
import { openGateway } from './redis-gateways.ts';

export async function registryOn(
  store: Pick<SharedStore, 'registrations' | 'away' | 'onAway'>,
  gateway: string,
): Promise<SandboxRegistry> {
  const registry = await SandboxRegistry.open({
    store,
    sharing: { gateway, sharedAddresses: () => false, graceMs: () => 60_000 },
    knownCredentials: () => new Set(),
    socketDirectory: `/run/${gateway}`,
  });
  afterThisFile(() => registry.close());
  return registry;
}

export async function gatewayWithWorker(line: Parameters<typeof openGateway>[0], name: string) {
  const store = await openGateway(line, name);
  const registrations = new SharedRegistrations(store.registrations);
  const primary = await registryOn(registrations.within(store), name);
  const { worker } = besideWorker({ store, registrations, leases: new RecalledLeases(), mayRegister: false });
  return { store, registrations, primary, worker: await registryOn(worker, name) };
}
