import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { prepareIdentityFolder, writeIdentity } from '../../../../src/cli/steps/write-identity.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
});

afterEach(() => rmSync(home, { recursive: true }));

describe('an identity is written where its owner alone can read it', () => {
  test('the key is private, the rest is what the shim reads', async () => {
    const folder = join(home, 'identity');
    prepareIdentityFolder(folder);
    await writeIdentity(folder, { certificate: 'C', key: 'K', ca: 'A', expires_at: '2027-01-15T00:00:00Z' });
    const texts = ['certificate.pem', 'key.pem', 'ca.pem'].map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(texts).toEqual(['C', 'K', 'A']);
    expect(statSync(join(folder, 'key.pem')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('a folder that others can enter is refused before anything is registered', () => {
    chmodSync(home, 0o755);
    expect(() => prepareIdentityFolder(home)).toThrow(home);
  });
});
