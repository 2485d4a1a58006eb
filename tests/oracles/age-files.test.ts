// Files that the real age has made, with the keys that the real age-keygen has made.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reveal, Secret } from '../../src/path/secret.ts';
import { AgeSource } from '../../src/stages/inject/sources/age-source.ts';
import { FileSource } from '../../src/stages/inject/sources/file-source.ts';
import { runAtTerminal } from '../support/pty.ts';

const value = 'sk-ant-api03-in-an-age-file';
let directory: string;
let identity: FileSource;
let recipient: string;
let plain: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-age-oracle-'));
  const keys = join(directory, 'keys.txt');
  execFileSync('age-keygen', ['-o', keys], { stdio: 'ignore' });
  chmodSync(keys, 0o600);
  recipient = execFileSync('age-keygen', ['-y', keys], { encoding: 'utf8' }).trim();
  identity = new FileSource('its key', keys);
  plain = join(directory, 'plain');
  writeFileSync(plain, `${value}\n`);
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('what age encrypts, the gateway opens', () => {
  test.each([
    ['binary', []],
    ['armoured', ['-a']],
  ])('%s, for an identity of age-keygen', async (kind, flags) => {
    const path = join(directory, `${kind}.age`);
    execFileSync('age', [...flags, '-r', recipient, '-o', path, plain]);
    const source = new AgeSource('k', path, { identity, passphrase: null });
    expect(reveal(await source.current())).toBe(value);
  });

  test('for several recipients, of which we are one', async () => {
    const path = join(directory, 'several.age');
    const others = join(directory, 'others.txt');
    execFileSync('age-keygen', ['-o', others], { stdio: 'ignore' });
    const other = execFileSync('age-keygen', ['-y', others], { encoding: 'utf8' }).trim();
    execFileSync('age', ['-r', other, '-r', recipient, '-o', path, plain]);
    const source = new AgeSource('k', path, { identity, passphrase: null });
    expect(reveal(await source.current())).toBe(value);
  });

  test('with a passphrase', async () => {
    const path = join(directory, 'passphrase.age');
    const phrase = 'correct horse battery';
    const typed = await runAtTerminal(
      ['age', '-p', '-o', path, plain],
      [{ wait: 'passphrase' }, { type: `${phrase}\n` }, { wait: 'onfirm' }, { type: `${phrase}\n` }],
      { folder: directory },
    );
    expect(typed).toMatchObject({ code: 0, missed: null });
    const passphrase = { current: () => new Secret('its passphrase', phrase) };
    expect(reveal(await new AgeSource('k', path, { identity: null, passphrase }).current())).toBe(value);
  });
});
