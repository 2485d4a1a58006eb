import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RegistrationError } from '../../../src/identify/registration-error.ts';
import { SandboxRegistry } from '../../../src/identify/registry.ts';
import { createFileBackup } from '../../../src/identify/registry-backup.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-registry-'));
  path = join(directory, 'registry.json');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function open(): Promise<SandboxRegistry> {
  const knownCredentials = (): Set<string> => new Set();
  return SandboxRegistry.open({ backup: createFileBackup(path), knownCredentials, socketDirectory: directory });
}

async function loadError(): Promise<RegistrationError> {
  const error: unknown = await createFileBackup(path)
    .load()
    .catch((thrown: unknown) => thrown);
  if (error instanceof RegistrationError) return error;
  throw new Error('the file was believed');
}

describe('registrations outlive the process', () => {
  test('no file is an empty registry', async () => {
    expect(await createFileBackup(path).load()).toEqual([]);
  });

  test('a registry that was never closed is found again as it was acknowledged', async () => {
    const before = await open();
    const { record, secret } = await before.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['ip', 'secret'],
    });
    await before.register({ id: 'two' });
    await before.remove('two');
    const after = await open();
    expect(after.list().map((one) => one.toStored())).toEqual([record.toStored()]);
    expect(after.find('one')!.secretMatches(secret!)).toBe(true);
    await before.close();
    await after.close();
  });

  test('the file is for us alone and no other file stays behind', async () => {
    const registry = await open();
    await registry.register({ id: 'one' });
    await registry.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['registry.json']);
  });

  test('a place that cannot be written is told as such', async () => {
    path = join(directory, 'missing', 'registry.json');
    const registry = await open();
    await expect(registry.register({ id: 'one' })).rejects.toMatchObject({ code: 'registry.unwritable', status: 500 });
    await registry.close();
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
    // What later versions added is not in it.
    expect(await createFileBackup(path).load()).toEqual([{ ...good, certificate_binding: null, container: null }]);
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
