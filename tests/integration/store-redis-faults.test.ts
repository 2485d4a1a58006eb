import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RedisLink } from '../../src/gateway/store/redis/redis-link.ts';
import {
  type RegistrationChange,
  type SharedStore,
  type StoreAway,
  StoreUnavailable,
} from '../../src/path/shared-store.ts';
import { eventually } from '../support/eventually.ts';
import { openGateway } from '../support/redis-gateways.ts';
import { RedisServer } from '../support/redis-server.ts';
import { storedRegistration } from '../support/store-contract.ts';

const run = promisify(execFile);
const idsOf = async (store: SharedStore) => (await store.registrations.load()).map(({ id }) => id).sort();
const isBack = (store: SharedStore) => eventually(() => store.away === null, 'the store is there again');

describe('gateways and their Redis fail and come back', () => {
  let server: RedisServer;
  let one: SharedStore;
  let other: SharedStore;
  const said: (StoreAway | null)[] = [];
  const seen: RegistrationChange[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
    one = await openGateway(server, 'one');
    other = await openGateway(server, 'other');
    one.onAway((away) => said.push(away));
    other.registrations.watch((change) => seen.push(change));
  });
  afterAll(() => server.stop());

  test('the places of a gateway that died come back with the end of its heartbeat', async () => {
    await server.cli('SET', 'sallyport:alive:dead#1', '1');
    await server.cli('HSET', 'sallyport:places:k', 'dead#1', '2');
    expect(await one.meters.hold('k', 2)).toBeGreaterThan(0);
    // Only now: to ask Redis for anything takes its time on a busy machine.
    await server.cli('PEXPIRE', 'sallyport:alive:dead#1', '300');
    await eventually(async () => (await one.meters.hold('k', 2)) === 0, 'a place of the dead one is free');
    expect(await other.meters.hold('k', 2)).toBe(0);
    expect(await other.meters.hold('k', 2)).toBeGreaterThan(0);
  });

  test('the places of a gateway that was stopped are free at once', async () => {
    const third = await openGateway(server, 'third');
    expect(await third.meters.hold('m', 1)).toBe(0);
    expect(await one.meters.hold('m', 1)).toBeGreaterThan(0);
    await third.close();
    await eventually(async () => (await one.meters.hold('m', 1)) === 0, 'the place is free');
  });

  test('a gateway that was thought dead says again what it holds', async () => {
    expect(await one.meters.hold('w', 1)).toBe(0);
    const [instance] = (await server.cli('HKEYS', 'sallyport:gateways'))
      .split('\n')
      .filter((id) => id.startsWith('one#'));
    await server.cli('DEL', `sallyport:alive:${instance}`, 'sallyport:places:w');
    await eventually(() => server.cli('HGET', 'sallyport:places:w', instance!), 'its place is known again');
    expect(await other.meters.hold('w', 1)).toBeGreaterThan(0);
  });

  test('a removal names the gateways that have not confirmed it', async () => {
    await one.registrations.add(storedRegistration('unheard'));
    await server.cli('HSET', 'sallyport:gateways', 'mute#1', 'mute');
    await server.cli('SET', 'sallyport:alive:mute#1', '1');
    expect(await one.registrations.remove('unheard')).toEqual({ unconfirmed: ['mute'] });
    await server.cli('DEL', 'sallyport:alive:mute#1');
  });

  test('a gateway whose ears were cut off hears everything again', async () => {
    await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => {
      const id = `after-${performance.now()}`;
      const added = await one.registrations.add(storedRegistration(id)).catch(() => 'away');
      return added === null && (await idsOf(other)).includes(id);
    }, 'what is added here is known there');
    await Promise.all([isBack(one), isBack(other)]);
  });

  test('what is in Redis and was never told is found at the next heartbeat but one', async () => {
    await one.registrations.add(storedRegistration('untold'));
    // As if the message had been lost: a version that nobody has heard of, and nothing else.
    const version = Number(await server.cli('GET', 'sallyport:version'));
    seen.length = 0;
    await server.cli('SET', 'sallyport:version', String(version + 1));
    await eventually(() => seen.some(({ kind }) => kind === 'all'), 'everything is read again');
    expect(await idsOf(other)).toContain('untold');
  });

  test('a Redis that does not answer within a second is away, and one that answers a little sooner is not', async () => {
    const link = await RedisLink.open({
      settings: server.settings,
      password: async () => server.password,
      channels: [],
      onMessage: () => {},
      onDown: () => {},
    });
    // By a clock that the test moves: how long a second is on a busy machine says nothing.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      server.pause();
      let outcome: unknown = null;
      const asked = link.command('PING').catch((error: unknown) => {
        outcome = error;
      });
      await vi.advanceTimersByTimeAsync(999);
      expect(outcome).toBeNull();
      await vi.advanceTimersByTimeAsync(1);
      await asked;
      expect(outcome).toBeInstanceOf(StoreUnavailable);
      expect(String(outcome)).toContain('no answer within 1000 ms');
      await expect(link.command('PING')).rejects.toThrow(StoreUnavailable);
    } finally {
      vi.useRealTimers();
      server.resume();
      link.close();
    }
    await Promise.all([isBack(one), isBack(other)]);
  });

  test('while Redis is gone nothing is acknowledged and limits go on by shares; what it lost it is told again', async () => {
    await one.registrations.add(storedRegistration('kept'));
    await one.registrations.add(storedRegistration('revoked'));
    expect(await idsOf(other)).toContain('kept');
    said.length = 0;
    await server.kill();
    await eventually(() => one.away !== null && other.away !== null, 'both notice');
    expect(said).toHaveLength(1);
    expect(said[0]?.reason).not.toBe('');

    await expect(one.registrations.add(storedRegistration('new'))).rejects.toThrow(StoreUnavailable);
    await expect(one.registrations.remove('revoked')).rejects.toThrow(StoreUnavailable);
    expect(await idsOf(one)).not.toContain('revoked');
    await expect(one.vault.get('v')).rejects.toThrow(StoreUnavailable);
    await expect(one.locks.exclusively('l', 50, async () => 1)).rejects.toThrow(StoreUnavailable);
    // Ten among two gateways.
    const waits = await Promise.all(
      Array.from({ length: 10 }, () => one.meters.take('t', { perSecond: 0.001, burst: 10 })),
    );
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(5);
    const places = await Promise.all(Array.from({ length: 10 }, () => one.meters.hold('p', 4)));
    expect(places.filter((waitMs) => waitMs === 0)).toHaveLength(2);
    one.tallies.add('sum', 3, 60_000);
    expect(await one.tallies.total('sum')).toBe(3);

    // It keeps nothing on disk, so it comes back empty; by the time it could be asked it may have been told already.
    await server.restart();
    await Promise.all([isBack(one), isBack(other)]);
    expect(said.at(-1)).toBeNull();
    await eventually(async () => !(await idsOf(other)).includes('revoked'), 'the removal reaches the other gateway');
    const fresh = await openGateway(server, 'fresh');
    await eventually(async () => !(await idsOf(fresh)).includes('revoked'), 'the removal reaches a new gateway');
    for (const store of [one, other, fresh]) expect(await idsOf(store)).toContain('kept');
    await eventually(async () => (await other.meters.hold('p', 4)) === 0, 'what is held was said again');
    await eventually(async () => (await fresh.tallies.total('sum')) === 3, 'sums were told again');
    expect(await other.registrations.add(storedRegistration('late', { claims: ['id kept'] }))).toMatchObject({
      holder: 'kept',
    });
    await fresh.close();
  });

  test('a Redis that is only silent is away too, and back when it answers', async () => {
    server.pause();
    await eventually(() => one.away, 'one notices');
    expect(one.away?.reason).toContain('no answer');
    server.resume();
    await Promise.all([isBack(one), isBack(other)]);
    expect(await idsOf(one)).toContain('kept');
  });

  test.each([
    ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /OOM/],
    ['has become a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], /READONLY/],
  ])('a Redis that %s is away too, and back when it can write again', async (_what, spoil, mend, reason) => {
    await one.registrations.add(storedRegistration('written'));
    await server.cli(...spoil);
    await eventually(() => one.away !== null && other.away !== null, 'both notice');
    await eventually(() => reason.test(one.away?.reason ?? ''), 'it says why, and stays away');
    await expect(one.registrations.add(storedRegistration('unwritten'))).rejects.toThrow(StoreUnavailable);
    await server.cli(...mend);
    await Promise.all([isBack(one), isBack(other)]);
    expect(await idsOf(other)).toContain('written');
    expect(await one.registrations.add(storedRegistration('unwritten'))).toBeNull();
    await one.registrations.remove('written');
    await one.registrations.remove('unwritten');
  });

  test('what was refused while it was silent, and was taken by it afterwards, is taken back', async () => {
    // So that Redis knows the script, and does not ask for it.
    await one.registrations.add(storedRegistration('before'));
    const refused = storedRegistration('refused', { claims: ['id refused', 'ip 192.0.2.9'] });
    server.pause();
    await expect(one.registrations.add(refused)).rejects.toThrow(StoreUnavailable);
    server.resume();
    await Promise.all([isBack(one), isBack(other)]);
    await eventually(async () => (await one.registrations.add(refused)) === null, 'it is in nobody’s way');
    expect(await idsOf(other)).toContain('refused');
    await one.registrations.remove('refused');
  });
});

describe('what a gateway recalls of a sum when it begins anew', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
    // A process of each gateway that has told this much, and ended.
    await server.cli('HSET', 'sallyport:tally:sum', 'again#1', '100', 'again#2', '50', 'other#1', '7');
  });
  afterAll(() => server.stop());

  test.each<[string, number, number]>([
    ['is not counted again where it was told', 150, 157],
    ['counts as far as it was not told', 180, 187],
    ['takes nothing away where the journal has less', 20, 157],
  ])('%s', async (_what, recalled, sum) => {
    const store = await openGateway(server, 'again');
    for (let told = 0; told < recalled; told += 10) store.tallies.recall('sum', 10, 60_000);
    expect(await store.tallies.total('sum')).toBe(sum);
    store.tallies.add('sum', 5, 60_000);
    expect(await store.tallies.total('sum')).toBe(sum + 5);
    await store.close();
    await server.cli('HDEL', 'sallyport:tally:sum', ...(await newFields()));
  });

  test('counts in full where Redis has lost it', async () => {
    const store = await openGateway(server, 'again');
    store.tallies.recall('sum', 180, 60_000);
    expect(await store.tallies.total('sum')).toBe(187);
    await server.cli('DEL', 'sallyport:tally:sum');
    store.tallies.add('sum', 5, 60_000);
    await eventually(async () => (await server.cli('HVALS', 'sallyport:tally:sum')) === '185', 'it is told again');
    await store.close();
  });

  async function newFields(): Promise<string[]> {
    const all = (await server.cli('HKEYS', 'sallyport:tally:sum')).split('\n');
    return all.filter((field) => !['again#1', 'again#2', 'other#1'].includes(field));
  }
});

describe('a store that cannot be used says what to do', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start({ guarded: true });
  });
  afterAll(() => server.stop());

  test('a wrong password, a certificate that is not trusted, a port nobody listens on', async () => {
    const { settings, password } = server;
    await expect(openGateway({ settings, password: 'wrong' }, 'g')).rejects.toThrow(/WRONGPASS.*store\.password/);
    await expect(openGateway({ settings: { ...settings, roots: [] }, password }, 'g')).rejects.toThrow(/store\.ca/);
    const elsewhere = { ...settings, host: '127.0.0.1' };
    await expect(openGateway({ settings: elsewhere, password }, 'g')).rejects.toThrow(/store\.ca.*store\.url/);
    await expect(openGateway({ settings: { ...settings, port: 1 }, password }, 'g')).rejects.toThrow(
      /Redis runs there/,
    );
  });

  test('a prefix outside the rights of its user', async () => {
    const settings = { ...server.settings, prefix: 'another:' };
    await expect(openGateway({ settings, password: server.password }, 'g')).rejects.toThrow(/NOPERM.*docs\/store\.md/);
  });

  test('in the one file of the build too it opens, and it never keeps the process alive', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sallyport-bundle-'));
    const outfile = join(directory, 'out.cjs');
    const contents = `
      import { openRedisStore } from './src/gateway/store/redis/redis-store.ts';
      import { createSealedBox } from './src/kit/sealed-box.ts';
      const { settings, password } = JSON.parse(process.env.STORE);
      const seal = createSealedBox(Buffer.alloc(32), 'store');
      const log = { warn() {}, info() {} };
      const gateway = { gateway: 'bundled', caFingerprint: 'a', log };
      openRedisStore({ settings, password: async () => password, seal, ...gateway }).then(() => console.log('open'));`;
    try {
      await build({
        stdin: { contents, resolveDir: join(import.meta.dirname, '../..'), loader: 'ts' },
        ...{ outfile, bundle: true, platform: 'node', format: 'cjs', supported: { 'dynamic-import': false } },
        logLevel: 'error',
      });
      const { settings, password } = server;
      const env = { ...process.env, STORE: JSON.stringify({ settings, password }) };
      // Ends by itself: nothing closes the store there.
      const { stdout } = await run(process.execPath, [outfile], { env, timeout: 20_000 });
      expect(stdout).toBe('open\n');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
