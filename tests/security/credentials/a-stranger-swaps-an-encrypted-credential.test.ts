// Must not happen: another user of the host puts a file of his own in the place of an encrypted one. He knows the public key,
// so it opens; and the agents' requests go out with his account.
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { reveal, Secret } from '../../../src/path/secret.ts';
import { AgeSource } from '../../../src/stages/inject/sources/age-source.ts';

let directory: string;
let path: string;
let identity: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-swap-'));
  path = join(directory, 'key.age');
  identity = await generateIdentity();
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  writeFileSync(path, await encrypter.encrypt('value'), { mode: 0o600 });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

async function opened(file = path): Promise<string> {
  const keys = { identity: { current: () => new Secret('its key', identity) }, passphrase: null };
  return reveal(await new AgeSource('k', file, keys).current());
}

describe('an encrypted file is used only if nobody else can have written it', () => {
  test('one that others may read is', async () => {
    chmodSync(path, 0o644);
    expect(await opened()).toBe('value');
  });

  test.each([0o620, 0o602, 0o664, 0o646, 0o777])('mode %o is refused with the command to run', async (mode) => {
    chmodSync(path, mode);
    await expect(opened()).rejects.toThrow(`run  chmod go-w ${path}`);
  });

  test('a file of another user is refused, also behind a link of ours', async () => {
    // Only root can give a file away; anyone else takes the place of another user instead.
    if (process.geteuid?.() === 0) chownSync(path, 65_534, 65_534);
    else vi.spyOn(process, 'geteuid').mockReturnValue(65_533);
    const alias = join(directory, 'alias');
    symlinkSync(path, alias);
    await expect(opened()).rejects.toThrow('belongs to another user');
    await expect(opened(alias)).rejects.toThrow('belongs to another user');
  });
});
