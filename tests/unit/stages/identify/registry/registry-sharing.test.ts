import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RegistrationRequest } from '../../../../../src/stages/identify/registry/registration.ts';
import { toPublic } from '../../../../../src/stages/identify/registry/sandbox-record.ts';
import { TestClock } from '../../../../support/memory-registry.ts';
import {
  openSharingGateway,
  SharedRegistrations,
  type SharingGateway,
} from '../../../../support/shared-registrations.ts';

const hour = 3_600_000;
let clock: TestClock;
let shared: SharedRegistrations;
let a: SharingGateway;
let b: SharingGateway;

beforeEach(async () => {
  clock = new TestClock();
  shared = new SharedRegistrations();
  a = await openSharingGateway(shared, 'gateway-a', clock);
  b = await openSharingGateway(shared, 'gateway-b', clock);
});

afterEach(() => {
  a.registry.close();
  b.registry.close();
});

describe('what one gateway registers, every gateway knows', () => {
  test('at once, with its rights, and by whom; a gateway that starts later finds it', async () => {
    const { secret } = await a.registry.register({ id: 'one', repos: ['o/r'], proof: ['secret'] });
    const late = await openSharingGateway(shared, 'gateway-c', clock);
    for (const { registry } of [b, late]) {
      const record = registry.find('one')!;
      expect(record.repos).toEqual(['o/r']);
      expect(record.secretMatches(secret!)).toBe(true);
      expect(toPublic(record)).toMatchObject({ id: 'one', gateway: 'gateway-a' });
      expect(registry.isOwn(record)).toBe(false);
    }
    late.registry.close();
  });

  test('an id that is in use elsewhere is a conflict, also when it was taken a moment ago', async () => {
    const both = await Promise.allSettled([a.registry.register({ id: 'one' }), b.registry.register({ id: 'one' })]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(b.registry.register({ id: 'one' })).rejects.toMatchObject({ code: 'sandbox.conflict' });
  });

  test('one that is removed anywhere goes everywhere, and whoever listens hears of it', async () => {
    await a.registry.register({ id: 'one' });
    expect(await b.registry.remove('one')).toEqual({ unconfirmed: [] });
    expect([a.removed, b.removed]).toEqual([['one'], ['one']]);
    expect(a.registry.find('one')).toBeNull();
    await b.registry.register({ id: 'one' });
    expect(a.registry.find('one')!.gateway).toBe('gateway-b');
  });

  test('traffic at one keeps it alive at all, and the store is told once for many requests', async () => {
    const { record } = await a.registry.register({ id: 'one' });
    clock.advance(23 * hour);
    const there = b.registry.find('one')!;
    for (let request = 0; request < 1000; request++) b.registry.touch(there);
    expect(b.view.extended).toBe(1);
    clock.advance(23 * hour);
    expect(a.registry.find('one')).toBe(record);
    a.registry.sweep();
    expect(a.removed).toEqual([]);
  });

  test('an end that is final stays, whatever end the store has come to have', async () => {
    const until = clock.now() + hour;
    await a.registry.register({ id: 'one', expires_at: new Date(until).toISOString() });
    b.view.extend('one', until + hour);
    expect(shared.held.get('one')!.expiresAtMs).toBe(until + hour);
    const late = await openSharingGateway(shared, 'gateway-c', clock);
    for (const { registry } of [a, late]) expect(registry.find('one')!.expiresAtMs).toBe(until);
    late.registry.close();
  });

  test('one that has expired here is not taken from the others, who may know of a later end', async () => {
    await a.registry.register({ id: 'one' });
    clock.advance(25 * hour);
    b.registry.sweep();
    expect(b.removed).toEqual(['one']);
    expect(shared.held.has('one')).toBe(true);
  });

  test('renew reaches the others; of one that is gone it says so', async () => {
    await a.registry.register({ id: 'one' });
    clock.advance(20 * hour);
    await b.registry.renew('one');
    clock.advance(20 * hour);
    expect(a.registry.find('one')).not.toBeNull();
    shared.held.delete('one');
    await expect(a.registry.renew('one')).rejects.toMatchObject({ code: 'sandbox.not-found' });
    expect(a.removed).toEqual(['one']);
  });

  test('a later registration of the same id is another one: what the first had open ends', async () => {
    await a.registry.register({ id: 'one' });
    const first = b.registry.find('one')!;
    b.view.leave();
    await a.registry.remove('one');
    clock.advance(1);
    await a.registry.register({ id: 'one' });
    b.view.comeBack();
    expect(b.removed).toEqual(['one']);
    expect(b.registry.holds(first)).toBe(false);
    expect(b.registry.find('one')).not.toBeNull();
  });

  test('what changes while a gateway reads the rest is not lost', async () => {
    await a.registry.register({ id: 'one' });
    const slow = new SharedRegistrations();
    const opening = openSharingGateway(slow, 'gateway-c', clock);
    slow.views[0]!.listener({ kind: 'put', registration: shared.held.get('one')! });
    const c = await opening;
    expect(c.registry.find('one')).not.toBeNull();
    c.registry.close();
  });

  test('what nobody here can read is left out and told, and does no harm to the rest', async () => {
    await a.registry.register({ id: 'good' });
    const broken = { id: 'bad', claims: [], expiresAtMs: clock.nowMs + hour, body: '{"id":"bad"}' };
    const renamed = { ...shared.held.get('good')!, id: 'bad' };
    for (const registration of [broken, renamed]) b.view.listener({ kind: 'put', registration });
    expect(b.failures).toHaveLength(2);
    expect(b.registry.list().map(({ id }) => id)).toEqual(['good']);
  });
});

describe('sandboxes with a door of their own', () => {
  test('the socket is opened by the gateway that it was registered with, and no other', async () => {
    await a.registry.register({ id: 'one', proof: ['socket'] });
    expect(a.registry.find('one')!.socketPath).toBe('/run/gateway-a/one.sock');
    expect(b.registry.find('one')!.socketPath).toBeNull();
    const again = await openSharingGateway(shared, 'gateway-a', clock);
    expect(again.registry.find('one')!.socketPath).toBe('/run/gateway-a/one.sock');
    again.registry.close();
  });

  test('one in a namespace is known to its own gateway alone, and stays when others speak of the same id', async () => {
    const { record } = await a.registry.register({ id: 'door', namespace: { pid: 4711 } });
    expect(b.registry.find('door')).toBeNull();
    await b.registry.register({ id: 'door' });
    await b.registry.remove('door');
    a.view.leave();
    a.view.comeBack();
    expect(a.registry.find('door')).toBe(record);
    expect(a.removed).toEqual([]);
  });

  test('a container is asked about where it runs, and nowhere else', async () => {
    const witness = async (asked: RegistrationRequest): Promise<RegistrationRequest> => ({
      ...asked,
      containerId: 'ab'.repeat(32),
      containerIp: '172.18.0.5',
      container: { name: 'agent', network: 'bridge', mac: null, pid: 7, startedAt: '2026-01-01T00:00:00Z' },
    });
    const docker = await openSharingGateway(shared, 'gateway-d', clock);
    docker.registry.useWitness(witness);
    const { record } = await docker.registry.register({ id: 'one', container_id: 'agent' });
    expect(docker.registry.listOwn()).toEqual([record]);
    expect(a.registry.list()).toHaveLength(1);
    expect(a.registry.listOwn()).toEqual([]);
    docker.registry.close();
  });
});

describe('a clock that jumps', () => {
  test('forward: what is over is over, and stays so when the clock comes back', async () => {
    await a.registry.register({ id: 'one' });
    clock.advance(48 * hour);
    b.registry.sweep();
    clock.advance(-48 * hour);
    b.view.leave();
    b.view.comeBack();
    expect(b.registry.find('one')).toBeNull();
    // Registered with the others still, and good here again as soon as one of them has renewed it.
    clock.advance(hour);
    a.registry.touch(a.registry.find('one')!);
    expect(b.registry.find('one')).not.toBeNull();
  });

  test('back: what traffic and renew have given is not taken away', async () => {
    const { record } = await a.registry.register({ id: 'one' });
    const until = record.expiresAtMs;
    clock.advance(-10 * hour);
    a.registry.touch(record);
    await a.registry.renew('one');
    expect(record.expiresAtMs).toBe(until);
    expect(shared.held.get('one')!.expiresAtMs).toBe(until);
    expect(b.registry.find('one')!.expiresAtMs).toBe(until);
  });
});
