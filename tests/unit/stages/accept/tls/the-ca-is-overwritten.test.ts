// Must not happen: a CA that exists is replaced or repaired behind the operator's back, or an attacker's file is
// taken for it. Every sandbox trusts it.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCa } from '../../../../../src/stages/accept/tls/ca.ts';

let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-ca-kept-'));
  directory = join(root, 'ca');
});
afterEach(() => rmSync(root, { recursive: true }));

function contents(): string[] {
  return ['ca.key', 'ca.pem'].map((name) => readFileSync(join(directory, name), 'latin1'));
}

describe('the CA on disk is never changed', () => {
  test.each(['', 'garbage', '-----BEGIN PRIVATE KEY-----\n'])('a broken key (%j) is left as it is', async (text) => {
    await openCa(directory);
    writeFileSync(join(directory, 'ca.key'), text);
    const before = contents();
    await expect(openCa(directory)).rejects.toThrow('cannot be parsed');
    expect(contents()).toEqual(before);
  });

  test('an expired one is left as it is', async () => {
    const { notAfter } = await openCa(directory);
    const before = contents();
    await expect(openCa(directory, () => notAfter.getTime() + 1)).rejects.toThrow('expired');
    expect(contents()).toEqual(before);
  });

  test('a dangling link in its place is not written through', async () => {
    mkdirSync(directory, { mode: 0o700 });
    symlinkSync(join(root, 'target'), join(directory, 'ca.key'));
    await expect(openCa(directory)).rejects.toThrow('symbolic link');
    expect(() => readFileSync(join(root, 'target'))).toThrow('ENOENT');
  });

  test('a directory in which others can write is not used even for a first start', async () => {
    mkdirSync(directory);
    chmodSync(directory, 0o777);
    await expect(openCa(directory)).rejects.toThrow('chmod 700');
    expect(() => contents()).toThrow('ENOENT');
  });

  test('its key does not show when the CA is printed', async () => {
    const ca = await openCa(directory);
    const body = contents()[0]!.split('\n')[1]!;
    const shown = inspect(ca, { depth: 20, showHidden: true }) + JSON.stringify(ca);
    expect(shown).toContain('Sallyport CA');
    expect(shown).not.toContain(body);
  });
});
