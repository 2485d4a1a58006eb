import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reveal, Secret } from '../../../../src/path/secret.ts';
import type { SourceSpec } from '../../../../src/policy/compiled.ts';
import { KnownSecrets } from '../../../../src/stages/inject/scrub/known-secrets.ts';
import { SecretStore } from '../../../../src/stages/inject/secret-store.ts';
import type { SecretSource } from '../../../../src/stages/inject/sources/secret-source.ts';
import { SourceError } from '../../../../src/stages/inject/sources/secret-source.ts';
import { makeSecretStore } from '../../../support/secret-store.ts';
import { spec } from './authorized-flow.ts';

let directory: string;
let keyFile: string;
let known: KnownSecrets;
let clock: number;
const start = Date.UTC(2027, 0, 1);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-rotation-'));
  keyFile = join(directory, 'key');
  write('first-value');
  known = new KnownSecrets();
  clock = start;
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(value: string): void {
  writeFileSync(keyFile, value, { mode: 0o600 });
}

function specs(sources: Record<string, SourceSpec>) {
  return new Map(Object.entries(sources).map(([name, source]) => [name, spec(name, { source })]));
}

function storeOf(sources: Record<string, SourceSpec>, env: NodeJS.ProcessEnv = {}): SecretStore {
  const store = makeSecretStore(env, { known, now: () => clock });
  store.configure(specs(sources));
  return store;
}

/** A store whose sources are these, whatever their specifications say. */
function storeWith(sources: Record<string, SecretSource>, kind: 'login' | 'oauth' | 'command' = 'login'): SecretStore {
  const store = new SecretStore(
    (name) => sources[name]!,
    known,
    () => clock,
  );
  store.configure(specs(Object.fromEntries(Object.keys(sources).map((name) => [name, specOf(kind)]))));
  return store;
}

function specOf(kind: 'login' | 'oauth' | 'command', agent: 'claude' | 'codex' = 'claude'): SourceSpec {
  if (kind === 'login') return { kind, agent, path: null, provider: null };
  if (kind === 'command') return { kind, argv: ['x'], ttlSeconds: 1 };
  const tokenUrl = { host: 'auth.example', port: 443, target: '/token' };
  const rest = { clientId: 'c', clientSecret: null, clientAuth: 'none', refreshToken: null, scope: null } as const;
  return { kind, grant: 'client_credentials', tokenUrl, ...rest, parameters: [], body: 'form' };
}

function knownValues(): string[] {
  return known.all().map(reveal);
}

const opened = (secret: Secret | null): string | null => (secret === null ? null : reveal(secret));

describe('every value is known before anyone has it', () => {
  test('from a file, a command, the environment, by hand; and it stays known when another takes its place', async () => {
    const store = storeOf(
      {
        f: { kind: 'file', path: keyFile },
        c: { kind: 'command', argv: [process.execPath, '-p', '"from-command"'], ttlSeconds: 60 },
        e: { kind: 'environment', variable: 'KEY' },
        m: { kind: 'memory' },
      },
      { KEY: 'from-environment' },
    );
    const refused = await store.resolve('f');
    await store.resolve('c');
    await store.resolve('e');
    store.set('m', 'by-hand-one');
    expect(knownValues()).toEqual(['first-value', 'from-command', 'from-environment', 'by-hand-one']);
    store.set('m', 'by-hand-two');
    write('second-value');
    await store.renewed('f', refused!);
    store.remove('m');
    expect(knownValues().slice(4)).toEqual(['by-hand-two', 'second-value']);
    expect(knownValues()).toContain('by-hand-one');
  });

  test('also one that only a listing has seen', () => {
    storeOf({ f: { kind: 'file', path: keyFile } }).list();
    expect(knownValues()).toEqual(['first-value']);
  });

  test('also what opens the file that another is in', async () => {
    const identity = await generateIdentity();
    const encrypter = new Encrypter();
    encrypter.addRecipient(await identityToRecipient(identity));
    const path = join(directory, 'key.age');
    writeFileSync(path, await encrypter.encrypt('in-the-age-file'));
    write(identity);
    const store = storeOf({ a: { kind: 'age', path, identity: { kind: 'file', path: keyFile }, passphrase: null } });
    expect(store.list()[0]).toMatchObject({ source: 'age', set: false, unasked: true });
    expect(opened(await store.resolve('a'))).toBe('in-the-age-file');
    expect(knownValues()).toEqual([identity, 'in-the-age-file']);
    expect(store.list()[0]).toMatchObject({ set: true, unasked: false });
  });

  test('when it is handed out and not a moment later', async () => {
    const secret = new Secret('k', 'a-minted-token');
    const seen: string[][] = [];
    const store = storeWith({
      k: { current: async () => secret, renewed: async () => new Secret('k', 'renewed-token') },
    });
    await Promise.resolve(store.resolve('k')).then(() => seen.push(knownValues()));
    await store.renewed('k', secret).then(() => seen.push(knownValues()));
    expect(seen).toEqual([['a-minted-token'], ['a-minted-token', 'renewed-token']]);
  });
});

describe('a value that an upstream refused', () => {
  test('is replaced by what its file holds now', async () => {
    const store = storeOf({ f: { kind: 'file', path: keyFile } });
    const refused = await store.resolve('f');
    write('second-value');
    expect(opened(await store.renewed('f', refused!))).toBe('second-value');
    expect(opened(await store.resolve('f'))).toBe('second-value');
  });

  test('is replaced by one that was set by hand meanwhile', async () => {
    const store = storeOf({ m: { kind: 'memory' } });
    store.set('m', 'old-value');
    const refused = await store.resolve('m');
    expect(await store.renewed('m', refused!)).toBeNull();
    store.set('m', 'new-value');
    expect(opened(await store.renewed('m', refused!))).toBe('new-value');
  });

  test('is not replaced by what a listing shows: of an App that is its private key', async () => {
    const token = new Secret('k', 'a-token-of-it');
    const store = storeWith({ k: { current: () => token, listed: () => new Secret('k', 'its-private-key') } });
    expect(await store.renewed('k', token)).toBeNull();
  });

  test('is never handed out again, whatever its source says', async () => {
    const store = storeWith({ k: { current: () => null, renewed: async () => new Secret('k', 'the-same') } });
    expect(await store.renewed('k', new Secret('k', 'the-same'))).toBeNull();
  });

  test('stays marked in the list until there is another', async () => {
    const store = storeOf({ f: { kind: 'file', path: keyFile } });
    const refused = await store.resolve('f');
    expect(await store.renewed('f', refused!)).toBeNull();
    await store.resolve('f');
    expect(store.list()[0]).toMatchObject({
      set: true,
      error: 'an upstream refused it (401) at 2027-01-01T00:00:00.000Z, and its source has no other',
    });
    write('second-value');
    await store.renewed('f', refused!);
    expect(store.list()[0]).toMatchObject({ set: true, error: null });
  });

  test('and a source that fails: null, with the reason in the list, and no word of anything else', async () => {
    const failing = (error: Error): SecretSource => ({
      current: () => new Secret('k', 'still-in-force'),
      renewed: () => Promise.reject(error),
    });
    const store = storeWith({
      told: failing(new SourceError('the login has ended: log in again')),
      untold: failing(new TypeError('cannot parse still-in-force')),
      thrown: {
        current: () => {
          throw new SourceError('gone');
        },
      },
    });
    await store.resolve('told');
    await store.resolve('untold');
    for (const name of ['told', 'untold', 'thrown']) {
      expect(await store.renewed(name, new Secret(name, 'refused'))).toBeNull();
    }
    expect(await store.renewed('no such', new Secret('x', 'refused'))).toBeNull();
    const [told, untold] = store.list();
    expect(told).toMatchObject({ set: true, error: expect.stringContaining('had: the login has ended: log in again') });
    expect(untold).toMatchObject({ set: true, error: expect.stringContaining('unexpected failure of the source') });
  });
});

describe('a reload', () => {
  function counting(): { store: SecretStore; opens: string[]; closed: string[] } {
    const opens: string[] = [];
    const closed: string[] = [];
    const store = new SecretStore(
      (name, { kind }) => {
        opens.push(`${name} ${kind}`);
        return {
          current: () => null,
          close: async () => {
            closed.push(`${name} ${kind}`);
          },
        };
      },
      known,
      () => clock,
    );
    return { store, opens, closed };
  }

  test('keeps the tokens of sources that did not change, and opens the others anew', () => {
    const { store, opens, closed } = counting();
    const sources = { l: specOf('login'), o: specOf('oauth'), c: specOf('command') };
    store.configure(specs(sources));
    store.configure(specs(sources));
    expect(opens).toEqual(['l login', 'o oauth', 'c command', 'c command']);
    expect(closed).toEqual(['c command']);
  });

  test('opens a credential anew that requests are now signed with, and not sent', () => {
    const pairs: boolean[] = [];
    const store = new SecretStore((_name, _spec, isPair = false) => {
      pairs.push(isPair);
      return { current: () => null };
    }, known);
    const placed = (kind: 'sigv4' | 'none') => {
      const placements = kind === 'none' ? [] : [{ hosts: [], paths: null, injection: { kind } }];
      return new Map([['m', spec('m', { source: { kind: 'memory' }, placements })]]);
    };
    store.configure(placed('none'));
    store.configure(placed('sigv4'));
    store.configure(placed('sigv4'));
    expect(pairs).toEqual([false, true]);
  });

  test('closes what is no longer used, or comes from elsewhere now', () => {
    const { store, opens, closed } = counting();
    store.configure(specs({ l: specOf('login'), o: specOf('oauth') }));
    store.configure(specs({ l: specOf('login', 'codex') }));
    expect(opens.slice(2)).toEqual(['l login']);
    expect(closed.sort()).toEqual(['l login', 'o oauth']);
  });
});

describe('the list', () => {
  test('knows a login, when it ends, and what its source says of itself', () => {
    const expiresAtMs = start + 43 * 60_000;
    const token = new Secret('k', 'an-access-token', { login: true, expiresAtMs });
    const store = storeWith({
      k: { current: () => token, listed: () => token, origin: '~/.codex/auth.json' },
      later: { current: () => token, listed: () => null },
      ended: { current: () => token, listed: () => null, problem: 'the login has ended' },
    });
    expect(store.list()).toMatchObject([
      { source: '~/.codex/auth.json', set: true, login: true, expires: '2027-01-01T00:43:00.000Z', error: null },
      { source: 'login', set: false, unasked: true, login: true, expires: null, error: null },
      { source: 'login', set: false, unasked: false, error: 'the login has ended' },
    ]);
  });

  test('a value that is read again is as old as it was; another is new', async () => {
    const store = storeOf({ f: { kind: 'file', path: keyFile } });
    const first = await store.resolve('f');
    clock += 3_600_000;
    write('first-value');
    await store.renewed('f', first!);
    expect(store.list()[0]).toMatchObject({ since: '2027-01-01T00:00:00.000Z' });
    write('second-value');
    await store.renewed('f', first!);
    expect(store.list()[0]).toMatchObject({ since: '2027-01-01T01:00:00.000Z' });
  });

  test('has sources do no work', () => {
    const current = () => {
      throw new Error('it was asked');
    };
    const store = storeWith({ k: { current, listed: () => null } });
    expect(store.list()[0]).toMatchObject({ set: false, unasked: true, error: null });
  });

  test('says when a file has gone, before anyone asks for it', async () => {
    const store = storeOf({
      a: { kind: 'age', path: join(directory, 'none.age'), identity: null, passphrase: null },
      f: { kind: 'file', path: keyFile },
    });
    unlinkSync(keyFile);
    expect(store.list().map(({ unasked, error }) => [unasked, error?.includes('does not exist')])).toEqual([
      [false, true],
      [false, true],
    ]);
  });
});

test('what was made for a sandbox is taken back when it goes, and all of it at the end', async () => {
  const calls: string[] = [];
  const store = storeWith({
    k: {
      current: () => null,
      drop: (id) => calls.push(`drop ${id}`),
      close: async () => {
        calls.push('close');
      },
    },
    plain: { current: () => null },
  });
  store.drop('sbx_1');
  await store.close();
  expect(calls).toEqual(['drop sbx_1', 'close']);
});
