// Attack: another user owns the key, the CA or the folder of a shim's identity, and could change it. Needs root, to give away files.
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IdentityFolder } from '../../../src/sandbox/shim/identity-folder.ts';
import { makeIdentities } from '../../unit/sandbox/shim/pretend-identities.ts';

const identities = makeIdentities();
const uid = process.geteuid?.() ?? -1;
const stranger = 54_321;
let path: string;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
  const files = identities.identity();
  for (const name of ['certificate', 'key', 'ca'] as const) {
    writeFileSync(join(path, `${name}.pem`), files[name], { mode: 0o600 });
  }
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const load = () => new IdentityFolder(path, uid).load();
const file = (name: string): string => join(path, name);

test('the folder as it was made is read', async () => {
  expect((await load()).sandboxId).toBe('box');
});

test.each([
  ['a key of another user', () => chownSync(file('key.pem'), stranger, stranger), 'belongs to uid 54321'],
  ['a CA of another user', () => chownSync(file('ca.pem'), stranger, stranger), 'other users can write to'],
  ['a folder of another user', () => chownSync(path, stranger, stranger), 'other users can write to the identity'],
])('with %s it is refused', async (_what, spoil, words) => {
  spoil();
  await expect(load()).rejects.toThrow(words);
});
