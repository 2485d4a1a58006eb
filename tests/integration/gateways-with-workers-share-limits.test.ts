// What cannot wait for an answer (a connection, a tunnel) is parted in advance, among all workers of all gateways.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IpcStore } from '../../src/gateway/workers/ipc-store.ts';
import { RecalledLeases } from '../../src/gateway/workers/recalled-leases.ts';
import { SharedRegistrations } from '../../src/gateway/workers/shared-registrations.ts';
import type { SharedStore } from '../../src/path/shared-store.ts';
import { besideWorker } from '../support/beside-worker.ts';
import { eventually } from '../support/eventually.ts';
import { openGateway } from '../support/redis-gateways.ts';
import { RedisServer } from '../support/redis-server.ts';

/** One in about a quarter of an hour: within a test nothing comes back. */
const rate = { perSecond: 0.001, burst: 40 };
let server: RedisServer;
const gateways: SharedStore[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
  for (const name of ['a', 'b', 'c', 'd']) gateways.push(await openGateway(server, name));
  await eventually(() => gateways.every((store) => store.gateways === 4), 'all know of all');
});
afterAll(() => server.stop());

function twoWorkersOf(store: SharedStore, known: Pick<SharedStore, 'gateways'> = store): IpcStore[] {
  const parts = { registrations: new SharedRegistrations(store.registrations), leases: new RecalledLeases() };
  const { meters, tallies, vault, locks } = store;
  const served = { meters, tallies, vault, locks, gateways: known.gateways };
  return [1, 2].map(() => besideWorker({ ...parts, store: served }).worker);
}

/** Each asks for all of it, again and again. */
async function takenBy(workers: readonly IpcStore[], key: string): Promise<number> {
  let granted = 0;
  for (let round = 0; round < 12; round++) {
    for (const { meters } of workers) {
      for (let i = 0; i < 20; i++) if (meters.takeNow(key, rate) === 0) granted++;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return granted;
}

test('the workers of four gateways have no more together than the limit', async () => {
  const granted = await takenBy(
    gateways.flatMap((store) => twoWorkersOf(store)),
    'begun with four',
  );
  expect(granted).toBeLessThanOrEqual(rate.burst);
  // Of the half that is parted among eight, each has two whole ones.
  expect(granted).toBeGreaterThanOrEqual(16);
});

test('also when the other gateways came after the workers had begun', async () => {
  const workers = gateways.flatMap((store) => twoWorkersOf(store, { gateways: 1 }));
  for (const worker of workers) worker.setGateways(4);
  expect(await takenBy(workers, 'told later')).toBeLessThanOrEqual(rate.burst);
});
