import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createEmbeddedStore } from '../../src/gateway/store/embedded-store.ts';
import { FileRegistrations } from '../../src/gateway/store/file-registrations.ts';
import { createIpcStore } from '../../src/gateway/workers/ipc-store.ts';
import { RecalledLeases } from '../../src/gateway/workers/recalled-leases.ts';
import { SharedRegistrations } from '../../src/gateway/workers/shared-registrations.ts';
import { type StoredRegistration, StoreUnavailable } from '../../src/path/shared-store.ts';
import { besideWorker } from '../support/beside-worker.ts';
import { describeStore, storedRegistration } from '../support/store-contract.ts';

const directory = mkdtempSync(join(tmpdir(), 'sallyport-store-'));
let stores = 0;
afterAll(() => rmSync(directory, { recursive: true }));

function gatewayStore() {
  const path = join(directory, `registry-${++stores}.json`);
  const file = new FileRegistrations({ path, read: (sandbox) => sandbox as StoredRegistration });
  const registrations = new SharedRegistrations(file);
  const store = createEmbeddedStore({ registrations });
  const leases = new RecalledLeases();
  const connect = (mayRegister = true) => besideWorker({ store, registrations, leases, mayRegister });
  return { store, registrations, connect };
}

describeStore('workers', async () => {
  const { registrations, connect } = gatewayStore();
  await registrations.load();
  const [one, other] = [connect().worker, connect().worker];
  const close = async (): Promise<void> => {
    await one.close();
    await other.close();
  };
  return { one, other, close };
});

test('a worker registers nobody and renews nobody', async () => {
  const { worker } = gatewayStore().connect(false);
  await expect(worker.registrations.add(storedRegistration('forged'))).rejects.toThrow(/registers nobody/);
  await expect(worker.registrations.replace(storedRegistration('forged'))).rejects.toBeInstanceOf(StoreUnavailable);
  await worker.close();
});

test('what a worker had when it died is free: its places and its locks', async () => {
  const { store, connect } = gatewayStore();
  const { worker, server } = connect();
  expect(await worker.meters.hold('places', 2)).toBe(0);
  expect(await worker.meters.hold('places', 2)).toBe(0);
  const held = new Promise<void>((resolve) => {
    void worker.locks.exclusively('lock', 1_000, () => {
      resolve();
      return new Promise(() => {});
    });
  });
  await held;
  expect(await store.meters.hold('places', 2)).toBeGreaterThan(0);
  server.gone();
  expect(await store.meters.hold('places', 2)).toBe(0);
  expect(await store.locks.exclusively('lock', 1_000, async () => 'mine')).toBe('mine');
});

test('that the store of the gateway is away, and back, is told to whoever listens', () => {
  const { worker } = gatewayStore().connect();
  const heard: (string | null)[] = [];
  worker.onAway((away) => heard.push(away?.reason ?? null));
  worker.setAway({ forMs: 100, reason: 'it does not answer' });
  expect(worker.away?.sinceMs).toBeLessThanOrEqual(performance.now() - 100);
  worker.setAway(null);
  expect(heard).toEqual(['it does not answer', null]);
  expect(worker.away).toBeNull();
});

test('a limit is used to its end: what one worker has in hand comes to the one that asks in vain', async () => {
  const { registrations, connect } = gatewayStore();
  await registrations.load();
  const [one, other] = [connect().worker, connect().worker];
  const rate = { perSecond: 0.001, burst: 100 };
  let granted = 0;
  // The first uses some and has a block in hand; the second takes all the rest.
  for (let i = 0; i < 20; i++) if ((await one.meters.take('r', rate)) === 0) granted++;
  for (let i = 0; i < 100; i++) if ((await other.meters.take('r', rate)) === 0) granted++;
  expect(granted).toBe(100);
  expect(await one.meters.take('r', rate)).toBeGreaterThan(0);
});

test('places in hand come to the one that asks in vain, and never more than there are', async () => {
  const { registrations, connect } = gatewayStore();
  await registrations.load();
  const [one, other] = [connect().worker, connect().worker];
  for (let i = 0; i < 10; i++) expect(await one.meters.hold('p', 64)).toBe(0);
  for (let i = 0; i < 10; i++) one.meters.release('p');
  let held = 0;
  while (held < 100 && (await other.meters.hold('p', 64)) === 0) held++;
  expect(held).toBe(64);
  expect(await one.meters.hold('p', 64)).toBeGreaterThan(0);
});

test('what a worker was granted in the same breath in which it is called back is called back too', async () => {
  type Grant = (drawn: { granted: number; waitMs: number }) => void;
  let late: { wanted: number; grant: Grant } | null = null;
  let isSlow = false;
  const ask = (_verb: string, { wanted }: { wanted: number }) =>
    isSlow
      ? new Promise((grant: Grant) => {
          late = { wanted, grant };
        })
      : Promise.resolve({ granted: wanted, waitMs: 0 });
  const worker = createIpcStore({ ask, tell() {}, isClosed: false } as never, {
    name: 'embedded',
    away: null,
    gateways: 1,
    workers: 2,
  });
  const rate = { perSecond: 0.001, burst: 100 };
  for (let i = 0; i < 20; i++) await worker.meters.take('r', rate);
  isSlow = true;
  for (let i = 0; i < 10 && late === null; i++) await worker.meters.take('r', rate);
  const { wanted, grant } = late!;
  grant({ granted: wanted, waitMs: 0 });
  expect(await worker.recall('r', 'rate')).toBeGreaterThanOrEqual(wanted);
  await worker.close();
});

test('of two questions about places that are here at once, none is counted twice', async () => {
  const { store, connect } = gatewayStore();
  const { handlers } = connect().server;
  const say = (wanted: number) => handlers.places({ key: 'p', limit: 2, held: 0, wanted }, null);
  await Promise.all([say(1), say(1)]);
  await say(0);
  expect([store.meters.hold('p', 2), store.meters.hold('p', 2)]).toEqual([0, 0]);
});

test('what is no amount is not granted to another', async () => {
  const leases = new RecalledLeases();
  const [asks, lies] = [{}, {}];
  leases.join(asks, () => Promise.resolve(0));
  for (const given of [{}, Number.NaN, -5, Number.POSITIVE_INFINITY, '7']) {
    leases.join(lies, () => Promise.resolve(given as number));
    expect(await leases.fromOthers(asks, String(given), 'rate')).toBe(0);
  }
});
