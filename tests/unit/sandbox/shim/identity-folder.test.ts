import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IdentityFiles, readIdentity } from '../../../../src/sandbox/shim/identity.ts';
import { IdentityFolder } from '../../../../src/sandbox/shim/identity-folder.ts';
import { makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
const uid = process.geteuid?.() ?? -1;
let path: string;
let files: IdentityFiles;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
  files = identities.identity();
  for (const name of ['certificate', 'key', 'ca'] as const) {
    writeFileSync(join(path, `${name}.pem`), files[name], { mode: 0o600 });
  }
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const load = () => new IdentityFolder(path, uid).load();
const file = (name: string): string => join(path, name);

describe('the identity folder', () => {
  test('is read, also when only the key is kept from others', async () => {
    chmodSync(path, 0o755);
    chmodSync(file('ca.pem'), 0o644);
    chmodSync(file('certificate.pem'), 0o644);
    expect((await load()).sandboxId).toBe('box');
  });

  test.each([
    ['a key that the group can read', () => chmodSync(file('key.pem'), 0o640), 'is open to other users'],
    ['a key that others can write', () => chmodSync(file('key.pem'), 0o602), 'is open to other users'],
    ['a CA that others can write', () => chmodSync(file('ca.pem'), 0o666), 'other users can write to'],
    ['a folder that others can write', () => chmodSync(path, 0o777), 'other users can write to the identity folder'],
    ['a missing key', () => rmSync(file('key.pem')), 'cannot be read (ENOENT)'],
    [
      'a folder in place of the CA',
      () => execFileSync('sh', ['-c', `rm ca.pem; mkdir ca.pem`], { cwd: path }),
      'not a file',
    ],
    [
      'a pipe in place of the key',
      () => execFileSync('sh', ['-c', `rm key.pem; mkfifo -m 600 key.pem`], { cwd: path }),
      'not a file',
    ],
  ])('with %s is refused', async (_what, spoil, words) => {
    spoil();
    await expect(load()).rejects.toThrow(words);
  });

  test('is not reached by links', async () => {
    renameSync(file('key.pem'), file('elsewhere.pem'));
    symlinkSync('elsewhere.pem', file('key.pem'));
    await expect(load()).rejects.toThrow('key.pem is a symbolic link');
    const link = `${path}-link`;
    symlinkSync(path, link);
    try {
      await expect(new IdentityFolder(link, uid).load()).rejects.toThrow('is not a folder');
    } finally {
      rmSync(link);
    }
  });

  test('that is not there is named', async () => {
    await expect(new IdentityFolder(`${path}/none`, uid).load()).rejects.toThrow(`${path}/none does not exist`);
  });
});

describe('a renewed identity', () => {
  test('is written back for the owner alone, and leaves nothing else behind', async () => {
    const renewed = readIdentity(identities.identity({ until: 90 }));
    await new IdentityFolder(path, uid).keep(renewed);
    expect(readdirSync(path).sort()).toEqual(['ca.pem', 'certificate.pem', 'key.pem']);
    expect(statSync(file('key.pem')).mode & 0o777).toBe(0o600);
    expect(readFileSync(file('key.pem'), 'utf8')).toBe(renewed.files.key);
    expect((await load()).validUntilMs).toBe(renewed.validUntilMs);
  });

  test('that was written half before a crash is found again, from either side of it', async () => {
    const renewed = identities.identity({ until: 90 });
    writeFileSync(file('key.next.pem'), renewed.key, { mode: 0o600 });
    expect((await load()).files.key).toBe(files.key);
    writeFileSync(file('certificate.pem'), renewed.certificate);
    expect((await load()).files.key).toBe(renewed.key);
    expect(readdirSync(path).sort()).toEqual(['ca.pem', 'certificate.pem', 'key.pem']);
    expect((await load()).files.key).toBe(renewed.key);
  });

  test('is not completed by a key that others could read', async () => {
    const renewed = identities.identity({ until: 90 });
    writeFileSync(file('certificate.pem'), renewed.certificate);
    writeFileSync(file('key.next.pem'), renewed.key, { mode: 0o644 });
    await expect(load()).rejects.toThrow('not the key of certificate.pem');
  });
});
