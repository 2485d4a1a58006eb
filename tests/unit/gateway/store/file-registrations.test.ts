import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FileRegistrations } from '../../../../src/gateway/store/file-registrations.ts';
import { RegistryFileError } from '../../../../src/gateway/store/registry-file.ts';
import { readStored } from '../../../../src/stages/identify/registry/stored-registration.ts';
import { openFileRegistry, registeredIn } from '../../../support/file-registry.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-registry-'));
  path = join(directory, 'registry.json');
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

const open = () => openFileRegistry(path);

async function loadError(): Promise<RegistryFileError> {
  const error: unknown = await new FileRegistrations({ path, read: readStored })
    .load()
    .catch((thrown: unknown) => thrown);
  if (error instanceof RegistryFileError) return error;
  throw new Error('the file was believed');
}

describe('registrations outlive the process', () => {
  test('no file is an empty registry', async () => {
    expect(await new FileRegistrations({ path, read: readStored }).load()).toEqual([]);
  });

  test('a registry that was never closed is found again as it was acknowledged', async () => {
    const before = await open();
    const { record, secret } = await before.registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['ip', 'secret'],
    });
    await before.registry.register({ id: 'two' });
    await before.registry.remove('two');
    const after = await open();
    expect(after.registry.list().map((one) => one.toStored())).toEqual([record.toStored()]);
    expect(after.registry.find('one')!.secretMatches(secret!)).toBe(true);
    await before.close();
    await after.close();
  });

  test('the file is for us alone and no other file stays behind', async () => {
    const { registry, close } = await open();
    await registry.register({ id: 'one' });
    await close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['registry.json']);
  });

  test('a place that cannot be written is told as such', async () => {
    path = join(directory, 'missing', 'registry.json');
    const { registry, close } = await open();
    await expect(registry.register({ id: 'one' })).rejects.toMatchObject({ code: 'registry.unwritable', status: 500 });
    // Nor can it be made sure that nothing of it is there.
    await expect(close()).rejects.toMatchObject({ code: 'registry.unwritable' });
  });
});

describe('what was acknowledged is in the file, and nothing else', () => {
  const registration = (id: string, claims = [`id ${id}`]) => ({
    id,
    claims,
    expiresAtMs: 1_000_000,
    body: JSON.stringify({ id, expires_at: new Date(1_000_000).toISOString() }),
  });
  const inFile = () => registeredIn(path);
  const openStore = (onFailure: (error: unknown) => void = () => {}) =>
    new FileRegistrations({ path, read: readStored, now: () => 0, onFailure });

  test('many at once share a write, and each is there when it is told so', async () => {
    const store = openStore();
    const ids = Array.from({ length: 200 }, (_, index) => `s${index}`);
    await Promise.all(
      ids.map(async (id) => {
        expect(await store.add(registration(id))).toBeNull();
        expect(inFile().map((one) => one.id)).toContain(id);
      }),
    );
    expect(inFile()).toHaveLength(200);
  });

  test('a claim is given once, also while the first is still being written', async () => {
    const store = openStore();
    const [first, second] = await Promise.all([
      store.add(registration('one', ['id one', 'ip 192.0.2.1'])),
      store.add(registration('two', ['id two', 'ip 192.0.2.1'])),
    ]);
    expect([first, second]).toEqual([null, { claim: 'ip 192.0.2.1', holder: 'one' }]);
    await store.remove('one');
    expect(await store.add(registration('two', ['id two', 'ip 192.0.2.1']))).toBeNull();
  });

  test('what could not be written and was not acknowledged does not get in with the next that can', async () => {
    const store = openStore();
    await store.add(registration('one'));
    // No temporary file can be made, until it can again.
    renameSync(directory, `${directory}.away`);
    const failed = store.add(registration('two'));
    const next = failed
      .catch(() => renameSync(`${directory}.away`, directory))
      .then(() => store.add(registration('three')));
    await expect(failed).rejects.toMatchObject({ code: 'registry.unwritable' });
    await next;
    expect(inFile().map(({ id }) => id)).toEqual(['one', 'three']);
    expect(await store.replace(registration('two'))).toBe(false);
  });

  test('an end moves later only, is written within a minute, again after a failure, and when the store is closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failures: unknown[] = [];
    const store = openStore((error) => failures.push(error));
    await store.add(registration('one'));
    store.extend('one', 500_000);
    for (let ms = 1; ms <= 1000; ms++) store.extend('one', 1_000_000 + ms);
    store.extend('nobody', 2_000_000);
    const end = (): string => inFile()[0]!.expires_at;
    expect(end()).toBe(new Date(1_000_000).toISOString());
    renameSync(directory, `${directory}.away`);
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 20_000 });
    renameSync(`${directory}.away`, directory);
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => expect(end()).toBe(new Date(1_001_000).toISOString()), { timeout: 20_000 });
    store.extend('one', 3_000_000);
    await store.close();
    expect(end()).toBe(new Date(3_000_000).toISOString());
    expect(inFile()).toHaveLength(1);
  });

  test('a removal that could not be written holds, and is written later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const store = openStore();
    await store.add(registration('one'));
    renameSync(directory, `${directory}.away`);
    await expect(store.remove('one')).rejects.toMatchObject({ code: 'registry.unwritable' });
    renameSync(`${directory}.away`, directory);
    expect(inFile()).toHaveLength(1);
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => expect(inFile()).toEqual([]), { timeout: 20_000 });
  });
});

describe('a file that cannot be believed is an error with its fix', () => {
  const good = {
    id: 'one',
    container_ip: '172.18.0.5',
    container_id: null,
    repos: [],
    auth_mode: 'bot',
    allowed_branches: [],
    credentials: null,
    proof: ['ip'],
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:00:00.000Z',
    expiry_is_final: true,
    secret_sha256: null,
  };

  test.each([
    ['half of it', '{"version":1,"sandboxes":[{"id"'],
    ['nothing', ''],
    ['another version', JSON.stringify({ version: 2, sandboxes: [] })],
    ['a record without proof', JSON.stringify({ version: 1, sandboxes: [{ ...good, proof: [] }] })],
    ['a key we do not know', JSON.stringify({ version: 1, sandboxes: [{ ...good, admin: true }] })],
    ['one id twice', JSON.stringify({ version: 1, sandboxes: [good, { ...good, container_ip: null }] })],
    ['one address twice', JSON.stringify({ version: 1, sandboxes: [good, { ...good, id: 'two' }] })],
  ])('%s', async (_what, text) => {
    writeFileSync(path, text, { mode: 0o600 });
    const error = await loadError();
    expect(error.code).toBe('registry.unreadable');
    expect(error.message).toContain(path);
    expect(error.hint).toContain(`mv ${path} ${path}.broken`);
  });

  test('the record those are made of is itself good', async () => {
    writeFileSync(path, JSON.stringify({ version: 1, sandboxes: [good] }), { mode: 0o600 });
    const [read] = await new FileRegistrations({ path, read: readStored, now: () => 0 }).load();
    expect(read).toMatchObject({
      id: 'one',
      claims: ['id one', 'ip 172.18.0.5'],
      expiresAtMs: Date.parse(good.expires_at),
    });
    // What later versions added is not in it.
    expect(JSON.parse(read!.body)).toEqual({ ...good, certificate_binding: null, container: null });
  });

  test('a file that others can read or write', async () => {
    writeFileSync(path, '{"version":1,"sandboxes":[]}');
    chmodSync(path, 0o620);
    expect((await loadError()).hint).toContain(`chmod 600 ${path}`);
  });

  test('a link or a directory in its place', async () => {
    writeFileSync(join(directory, 'elsewhere'), '{"version":1,"sandboxes":[]}', { mode: 0o600 });
    symlinkSync(join(directory, 'elsewhere'), path);
    expect((await loadError()).message).toContain('not a regular file');
    rmSync(path);
    mkdirSync(path);
    expect((await loadError()).message).toContain('not a regular file');
  });
});
