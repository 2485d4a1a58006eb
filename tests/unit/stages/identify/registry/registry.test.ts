import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RegistrationRequest } from '../../../../../src/stages/identify/registry/registration.ts';
import { ConflictError, RegistrationError } from '../../../../../src/stages/identify/registry/registration-error.ts';
import { toPublic } from '../../../../../src/stages/identify/registry/sandbox-record.ts';
import { openTestRegistry, type TestRegistry } from '../../../../support/memory-registry.ts';

const hour = 3_600_000;
let t: TestRegistry;

beforeEach(async () => {
  t = await openTestRegistry();
});

afterEach(() => {
  t.registry.close();
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof RegistrationError ? `${error.status} ${error.code}` : String(error);
}

describe('the registry knows who is registered', () => {
  test('a sandbox is found by its id and by its address in any spelling', async () => {
    const { record, secret } = await t.registry.register({ container_ip: '172.18.0.5', id: 'one' });
    expect(secret).toBeNull();
    expect(t.registry.find('one')).toBe(record);
    expect(t.registry.find('172.18.0.5')).toBe(record);
    expect(t.registry.find('::ffff:172.18.0.5')).toBe(record);
    expect(t.registry.find('172.18.0.6')).toBeNull();
  });

  test('an id is made up when none is given, and the list keeps the order of registration', async () => {
    const first = await t.registry.register({ container_ip: '172.18.0.9' });
    const second = await t.registry.register({ container_ip: '172.18.0.3' });
    expect(first.record.id).toMatch(/^sbx_[0-9a-f]{16}$/);
    expect(t.registry.list()).toEqual([first.record, second.record]);
  });

  test('the secret is 32 random bytes, shown once, and only its hash is kept', async () => {
    const { record, secret } = await t.registry.register({ id: 'one' });
    expect(Buffer.from(secret!, 'base64url')).toHaveLength(32);
    expect(record.secretMatches(secret!)).toBe(true);
    expect(record.secretMatches(`${secret}x`)).toBe(false);
    expect(record.secretMatches('')).toBe(false);
    expect(JSON.stringify([record, { ...record }, toPublic(record)])).not.toContain(record.toStored().secret_sha256);
  });

  test('the public form has the spelling of the contract', async () => {
    const { record } = await t.registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['ip', 'socket'],
      repos: ['A/B'],
    });
    expect(toPublic(record)).toEqual({
      id: 'one',
      container_ip: '172.18.0.5',
      container_id: null,
      container: null,
      repos: ['a/b'],
      auth_mode: 'bot',
      allowed_branches: ['sandbox/*'],
      credentials: null,
      proof: ['ip', 'socket'],
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-02T00:00:00.000Z',
      expiry_is_final: false,
      socket: '/run/sallyport/sandboxes/one.sock',
      namespace: null,
      host_ports: [],
    });
  });

  test('a container that nobody can ask Docker about is not registered', async () => {
    expect(await codeOf(t.registry.register({ id: 'one', container_id: 'agent' }))).toBe('503 docker.unavailable');
    expect(t.registry.size).toBe(0);
  });

  test('a socket path that no socket can have is refused at registration', async () => {
    const long = await openTestRegistry({ socketDirectory: `/run/${'x'.repeat(100)}` });
    expect(await codeOf(long.registry.register({ id: 'one', proof: ['socket'] }))).toBe('400 sandbox.invalid');
    long.registry.close();
  });
});

describe('what is in use is never taken over', () => {
  test('an address or an id of a live registration is a conflict', async () => {
    await t.registry.register({ container_ip: '172.18.0.5', id: 'one' });
    await expect(t.registry.register({ container_ip: '172.18.0.5' })).rejects.toBeInstanceOf(ConflictError);
    expect(await codeOf(t.registry.register({ container_ip: '172.18.0.6', id: 'one' }))).toBe('409 sandbox.conflict');
    expect(t.registry.size).toBe(1);
  });

  test('two registrations of one address at the same moment: one wins', async () => {
    const both = await Promise.allSettled([
      t.registry.register({ container_ip: '172.18.0.5' }),
      t.registry.register({ container_ip: '172.18.0.5' }),
    ]);
    expect(both.map((one) => one.status)).toEqual(['fulfilled', 'rejected']);
    expect(t.registry.size).toBe(1);
  });

  test('an address is free again after its registration was removed or has expired', async () => {
    await t.registry.register({ container_ip: '172.18.0.5', id: 'one' });
    expect(await t.registry.remove('172.18.0.5')).toEqual({ unconfirmed: [] });
    expect(await t.registry.remove('172.18.0.5')).toBeNull();
    await t.registry.register({ container_ip: '172.18.0.5', id: 'two' });
    t.clock.advance(25 * hour);
    const { record } = await t.registry.register({ container_ip: '172.18.0.5', id: 'three' });
    expect(t.registry.list()).toEqual([record]);
  });
});

describe('a container', () => {
  const container = { name: 'agent', network: null, mac: null, pid: 7, startedAt: '2026-01-01T00:00:00Z' };
  const witness = async (asked: RegistrationRequest): Promise<RegistrationRequest> => ({
    ...asked,
    containerId: 'ab'.repeat(32),
    container,
    proof: ['socket'],
    namespacePid: 7,
  });

  test('is registered once, and anew as soon as its time is over: the door of before goes first', async () => {
    const { registry, clock } = await openTestRegistry();
    registry.useWitness(witness);
    const removed: string[] = [];
    registry.onRemoved((id) => removed.push(id));
    const until = new Date(clock.nowMs + hour).toISOString();
    await registry.register({ id: 'one', container_id: 'agent', expires_at: until });
    expect(await codeOf(registry.register({ id: 'two', container_id: 'agent' }))).toBe('409 sandbox.conflict');
    clock.advance(hour);
    await registry.register({ id: 'two', container_id: 'agent' });
    expect(removed).toEqual(['one']);
    registry.close();
  });
});

describe('a registration has a time to live', () => {
  test('24 hours without traffic', async () => {
    const { record } = await t.registry.register({ id: 'one' });
    t.clock.advance(24 * hour - 1);
    expect(t.registry.find('one')).toBe(record);
    t.clock.advance(1);
    expect(t.registry.find('one')).toBeNull();
    expect(t.registry.list()).toEqual([]);
  });

  test('traffic renews it, renew extends it', async () => {
    const { record } = await t.registry.register({ id: 'one' });
    t.clock.advance(23 * hour);
    t.registry.touch(record);
    t.clock.advance(23 * hour);
    expect(t.registry.find('one')).toBe(record);
    expect((await t.registry.renew('one')).expiresAtMs).toBe(t.clock.nowMs + 24 * hour);
  });

  test('an explicit expiry is final: neither traffic nor renew moves it', async () => {
    const { record } = await t.registry.register({ id: 'one', expires_at: '2026-01-01T01:00:00Z' });
    t.registry.touch(record);
    expect(await codeOf(t.registry.renew('one'))).toBe('409 sandbox.expiry-is-final');
    t.clock.advance(hour);
    expect(t.registry.find('one')).toBeNull();
  });

  test('renewing what is not there says so', async () => {
    expect(await codeOf(t.registry.renew('nobody'))).toBe('404 sandbox.not-found');
  });

  test('the sweep removes what has expired and tells the listeners, even when one of them throws', async () => {
    const failures: unknown[] = [];
    const swept = await openTestRegistry({ onFailure: (error) => failures.push(error) });
    const gone: string[] = [];
    swept.registry.onRemoved(() => {
      throw new Error('listener broke');
    });
    const stop = swept.registry.onRemoved((id) => gone.push(id));
    await swept.registry.register({ id: 'short', expires_at: '2026-01-01T01:00:00Z' });
    await swept.registry.register({ id: 'long' });
    swept.clock.advance(2 * hour);
    swept.registry.sweep();
    expect(gone).toEqual(['short']);
    expect(failures).toHaveLength(1);
    expect(swept.registry.size).toBe(1);
    stop();
    await swept.registry.remove('long');
    expect(gone).toEqual(['short']);
    swept.registry.close();
  });
});

describe('a change is on the disk before it is acknowledged', () => {
  test('register, renew and remove each write; a new registry finds the same', async () => {
    const { record } = await t.registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      repos: ['a/b'],
      proof: ['ip', 'secret'],
    });
    expect(t.backup.sandboxes.map((one) => one.id)).toEqual(['one']);
    t.clock.advance(hour);
    await t.registry.renew('one');
    expect(t.backup.sandboxes[0]!.expires_at).toBe('2026-01-02T01:00:00.000Z');

    const { registry: restarted } = await openTestRegistry({ backup: t.backup, now: t.clock.now });
    expect(restarted.find('172.18.0.5')?.toStored()).toEqual(record.toStored());
    restarted.close();

    await t.registry.remove('one');
    expect(t.backup.sandboxes).toEqual([]);
  });

  test('what has expired while the gateway was down stays out', async () => {
    await t.registry.register({ id: 'one' });
    t.clock.advance(25 * hour);
    const restarted = await openTestRegistry({ backup: t.backup, now: t.clock.now });
    expect(restarted.registry.size).toBe(0);
    restarted.registry.close();
  });

  test('a registration that cannot be written does not exist', async () => {
    t.backup.failure = new Error('no space left');
    await expect(t.registry.register({ id: 'one' })).rejects.toThrow('no space left');
    expect(t.registry.find('one')).toBeNull();
    t.backup.failure = null;
    await expect(t.registry.register({ id: 'one' })).resolves.toBeDefined();
  });

  test('an unregistration that cannot be written holds at once, and says that it would come back', async () => {
    await t.registry.register({ id: 'one' });
    t.backup.failure = new Error('no space left');
    await expect(t.registry.remove('one')).rejects.toThrow('would come back at a restart');
    expect(t.registry.find('one')).toBeNull();
  });
});

describe('a sandbox with a namespace', () => {
  test('has no socket file, and is not written down: its door ends with this process', async () => {
    await t.registry.register({ id: 'kept', container_ip: '172.18.0.5' });
    const { record } = await t.registry.register({ id: 'door', namespace: { pid: 4711 } });
    expect(toPublic(record)).toMatchObject({ socket: null, namespace: { pid: 4711 }, proof: ['socket'] });
    expect(t.registry.find('door')).toBe(record);
    expect(t.backup.sandboxes.map(({ id }) => id)).toEqual(['kept']);
  });
});
