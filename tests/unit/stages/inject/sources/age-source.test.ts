import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { armor, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { reveal, Secret } from '../../../../../src/path/secret.ts';
import { AgeSource } from '../../../../../src/stages/inject/sources/age-source.ts';
import { FileSource } from '../../../../../src/stages/inject/sources/file-source.ts';
import { type SecretSource, SourceError } from '../../../../../src/stages/inject/sources/secret-source.ts';

let identity: string;
let other: string;
let directory: string;
let path: string;
let clock: number;

beforeAll(async () => {
  identity = await generateIdentity();
  other = await generateIdentity();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-age-'));
  path = join(directory, 'key.age');
  clock = 0;
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Counts how often it is asked. */
function keyOf(value: string): SecretSource & { asked: number } {
  const source = {
    asked: 0,
    current: () => {
      source.asked++;
      return new Secret('its key', value);
    },
  };
  return source;
}

async function sealed(text: string, forIdentity = identity): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(forIdentity));
  return encrypter.encrypt(text);
}

async function sealedWith(passphrase: string, text: string, workFactor = 4): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(workFactor);
  return encrypter.encrypt(text);
}

async function write(text: string): Promise<void> {
  writeFileSync(path, await sealed(text), { mode: 0o600 });
}

function source(key: SecretSource = keyOf(identity)): AgeSource {
  return new AgeSource('k', path, { identity: key, passphrase: null }, () => clock);
}

function withPassphrase(passphrase: string): AgeSource {
  return new AgeSource('k', path, { identity: null, passphrase: keyOf(passphrase) }, () => clock);
}

async function openedBy(from: AgeSource): Promise<string> {
  return reveal(await from.current());
}

async function failureOf(from: AgeSource): Promise<SourceError> {
  try {
    await from.current();
  } catch (error) {
    if (error instanceof SourceError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('a credential in an encrypted file', () => {
  test('is opened once, and then at hand without waiting', async () => {
    await write('value\n');
    const key = keyOf(identity);
    const file = source(key);
    const [first, second] = await Promise.all([file.current(), file.current()]);
    expect([reveal(first), second === first]).toEqual(['value', true]);
    clock += 5000;
    expect(file.current()).toBe(first);
    expect(key.asked).toBe(1);
  });

  test('may be armoured', async () => {
    writeFileSync(path, armor.encode(await sealed('value\n')), { mode: 0o600 });
    expect(await openedBy(source())).toBe('value');
  });

  test('is opened by any identity of a file with comments and several of them', async () => {
    await write('value');
    const keys = join(directory, 'keys.txt');
    writeFileSync(keys, `# created: today\n# public key: age1…\n${other}\n\n${identity}\n`, { mode: 0o600 });
    expect(await openedBy(source(new FileSource('its key', keys)))).toBe('value');
  });

  test('is opened by its passphrase', async () => {
    writeFileSync(path, await sealedWith('correct horse', 'value'), { mode: 0o600 });
    expect(await openedBy(withPassphrase('correct horse'))).toBe('value');
  });

  test('does not hold other work up while a passphrase is stretched', async () => {
    writeFileSync(path, await sealedWith('correct horse', 'value', 15), { mode: 0o600 });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await withPassphrase('correct horse').current();
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('a change of the file', () => {
  test('is taken up within a second, and what was there before is not served meanwhile', async () => {
    await write('one');
    const file = source();
    expect(await openedBy(file)).toBe('one');
    writeFileSync(`${path}.new`, await sealed('two'), { mode: 0o600 });
    renameSync(`${path}.new`, path);
    clock += 900;
    expect(await openedBy(file)).toBe('one');
    clock += 200;
    expect(file.current()).toBeInstanceOf(Promise);
    expect(await openedBy(file)).toBe('two');
  });

  test('is looked for at once when an upstream refused the value', async () => {
    await write('one');
    const file = source();
    const refused = await file.current();
    expect(await file.renewed(refused)).toBeNull();
    await write('two');
    const found = await file.renewed(refused);
    expect(found === null ? null : reveal(found)).toBe('two');
  });

  test('that takes the file away takes the value away', async () => {
    await write('one');
    const file = source();
    await file.current();
    unlinkSync(path);
    clock += 1500;
    expect((await failureOf(file)).message).toContain(`${path} does not exist`);
    expect(() => file.listed()).toThrow('does not exist');
  });

  test('to one that does not open takes the value away, too', async () => {
    await write('one');
    const file = source();
    await file.current();
    writeFileSync(path, await sealed('two', other));
    clock += 1500;
    expect((await failureOf(file)).message).toContain('not encrypted for this identity');
    expect((await failureOf(file)).message).toContain('not encrypted for this identity');
  });

  test('during the opening counts: the newer one wins', async () => {
    await write('one');
    // The older one takes longer to open.
    const waits = [60, 0];
    const slow: SecretSource = {
      current: () => new Promise((resolve) => setTimeout(resolve, waits.shift(), new Secret('its key', identity))),
    };
    const file = source(slow);
    const first = file.current();
    await write('two');
    clock += 1500;
    expect(reveal(await file.current())).toBe('two');
    await first;
    expect(await openedBy(file)).toBe('two');
  });
});

describe('a file that does not open', () => {
  const forIdentity = () => sealed('value');
  const forPassphrase = () => sealedWith('one', 'value');
  const bytes = (text: string) => async () => Buffer.from(text, 'latin1');
  test.each<[string, () => Promise<Uint8Array>, () => AgeSource, string]>([
    ['for another identity', forIdentity, () => source(keyOf(other)), 'not encrypted for this identity'],
    ['with another passphrase', forPassphrase, () => withPassphrase('two'), 'does not open with this passphrase'],
    ['for an identity, with a passphrase', forIdentity, () => withPassphrase('two'), 'does not open'],
    ['with a key of ssh', forIdentity, () => source(keyOf('ssh-rsa AAAA')), "none of age's"],
    ['with a key that was mistyped', forIdentity, () => source(keyOf(`${identity}X`)), "none of age's"],
    ['that is no age file', bytes('plain-secret'), source, 'damaged, or not a file'],
    ['that was cut short', async () => (await sealed('value')).subarray(0, -4), source, 'damaged, or not a file'],
    ['that holds two lines', () => sealed('a\nb'), source, 'control character'],
    ['whose key is not set', forIdentity, () => source({ current: () => null }), 'is not set'],
    [
      'whose passphrase would take all memory',
      async () => {
        const text = Buffer.from(await forPassphrase()).toString('latin1');
        return Buffer.from(text.replace(/^(-> scrypt \S+) 4$/m, '$1 30'), 'latin1');
      },
      () => withPassphrase('one'),
      'damaged, or not a file',
    ],
  ])('%s: says so, and nothing of what is in it or opens it', async (_, content, open, reason) => {
    writeFileSync(path, await content(), { mode: 0o600 });
    const from = open();
    const failure = await failureOf(from);
    expect(failure.message).toContain(reason);
    const shown = inspect(failure, { depth: 20 });
    for (const hidden of [identity.slice(16), other.slice(16), 'plain-secret', 'AAAA'])
      expect(shown).not.toContain(hidden);
    expect(() => from.listed()).toThrow(reason);
  });

  test('is left alone for a while, then tried again; a changed one at once', async () => {
    await write('value');
    const key = keyOf(other);
    const file = source(key);
    await failureOf(file);
    clock += 4000;
    expect(() => file.current()).toThrow('not encrypted');
    expect(key.asked).toBe(1);
    clock += 1500;
    await failureOf(file);
    expect(key.asked).toBe(2);
    writeFileSync(path, await sealed('for the other', other));
    clock += 1100;
    expect(await openedBy(file)).toBe('for the other');
  });
});

test('a listing opens nothing', async () => {
  await write('value');
  const key = keyOf(identity);
  const file = source(key);
  expect(file.listed()).toBeNull();
  expect(key.asked).toBe(0);
  const opened = await file.current();
  expect(file.listed()).toBe(opened);
});
