import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Refusal } from '../../../../src/path/refusal.ts';
import { reveal, type Secret } from '../../../../src/path/secret.ts';
import type { SourceSpec } from '../../../../src/policy/compiled.ts';
import { SecretRejected, type SecretStore } from '../../../../src/stages/inject/secret-store.ts';
import { UserKeys } from '../../../../src/stages/inject/sources/user-keys.ts';
import { makeSecretStore } from '../../../support/secret-store.ts';
import { spec } from './authorized-flow.ts';

let directory: string;
let keyFile: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-store-'));
  keyFile = join(directory, 'key');
  writeFileSync(keyFile, 'from-file\n', { mode: 0o600 });
});
afterEach(() => rmSync(directory, { recursive: true }));

function specs(sources: Record<string, SourceSpec>) {
  return new Map(Object.entries(sources).map(([name, source]) => [name, spec(name, { source })]));
}

function storeOf(sources: Record<string, SourceSpec>, env: NodeJS.ProcessEnv = {}): SecretStore {
  const store = makeSecretStore(env, { now: () => Date.UTC(2027, 0, 1) });
  store.configure(specs(sources));
  return store;
}

function now(found: Secret | null | Promise<Secret | null>): string | null {
  if (found instanceof Promise) throw new Error('not at hand');
  return found === null ? null : reveal(found);
}

function rejection(act: () => unknown): SecretRejected {
  try {
    act();
  } catch (error) {
    if (error instanceof SecretRejected) return error;
    throw error;
  }
  throw new Error('it was not rejected');
}

describe('every source yields its credential', () => {
  test('a file, the environment and memory at once; a command after it has run once', async () => {
    const store = storeOf(
      {
        f: { kind: 'file', path: keyFile },
        e: { kind: 'environment', variable: 'KEY' },
        m: { kind: 'memory' },
        c: { kind: 'command', argv: [process.execPath, '-p', '"printed"'], ttlSeconds: 60 },
      },
      { KEY: 'from-env' },
    );
    store.set('m', 'by-hand\n');
    expect([now(store.resolve('f')), now(store.resolve('e')), now(store.resolve('m'))]).toEqual([
      'from-file',
      'from-env',
      'by-hand',
    ]);
    expect(store.resolve('c')).toBeInstanceOf(Promise);
    await store.resolve('c');
    expect(now(store.resolve('c'))).toBe('printed');
  });

  test('what is not configured, not set or not in the environment is null', () => {
    const store = storeOf({ m: { kind: 'memory' }, e: { kind: 'environment', variable: 'NONE' } });
    expect([store.resolve('m'), store.resolve('e'), store.resolve('other')]).toEqual([null, null, null]);
  });

  test('a source that fails is a refusal that names the credential, with the fix for the operator alone', () => {
    chmodSync(keyFile, 0o644);
    const store = storeOf({ f: { kind: 'file', path: keyFile } });
    let refusal: unknown;
    try {
      // A file is read at once, so it throws here.
      void store.resolve('f');
    } catch (error) {
      refusal = error;
    }
    if (!(refusal instanceof Refusal)) throw new Error('no refusal');
    expect(refusal).toMatchObject({ code: 'credential.unreadable', status: 502, rule: 'credentials.f.source' });
    expect(refusal.message + refusal.hint).not.toContain(directory);
    expect(String(refusal.cause)).toContain(`chmod 600 ${keyFile}`);
  });

  test('a command that fails is a refusal, too', async () => {
    const argv = [process.execPath, '-e', 'process.exit(1)'];
    const store = storeOf({ c: { kind: 'command', argv, ttlSeconds: 60 } });
    await expect(store.resolve('c')).rejects.toMatchObject({ code: 'credential.unreadable' });
    expect(() => store.resolve('c')).toThrow(Refusal);
  });
});

describe('values set by hand', () => {
  test('survive a reload, and go when their credential does', () => {
    const store = storeOf({ m: { kind: 'memory' } });
    store.set('m', 'by-hand');
    store.configure(specs({ m: { kind: 'memory' }, other: { kind: 'memory' } }));
    expect(now(store.resolve('m'))).toBe('by-hand');
    store.configure(specs({}));
    store.configure(specs({ m: { kind: 'memory' } }));
    expect(store.resolve('m')).toBeNull();
  });

  test('can be removed once', () => {
    const store = storeOf({ m: { kind: 'memory' } });
    store.set('m', 'by-hand');
    expect([store.remove('m'), store.remove('m')]).toEqual([true, false]);
    expect(store.resolve('m')).toBeNull();
  });

  test('have no place where the configuration names a source', () => {
    const store = storeOf({ f: { kind: 'file', path: keyFile } });
    expect(rejection(() => store.set('f', 'x'))).toMatchObject({ reason: 'has-source' });
    expect(rejection(() => store.remove('f')).message).toContain('has a source in the configuration (file)');
    expect(now(store.resolve('f'))).toBe('from-file');
  });

  test('need a credential of that name', () => {
    const failed = rejection(() => storeOf({ b: { kind: 'memory' }, a: { kind: 'memory' } }).set('c', 'x'));
    expect(failed).toMatchObject({ reason: 'unknown', message: expect.stringContaining('known: a, b') });
  });

  test.each(['', '\n', 'two\nlines', 'a\rb', 'nul\0', 'del\x7f', 'x'.repeat(65_537)])(
    'case %#: must be one line of text; a bad one changes nothing',
    (value) => {
      const store = storeOf({ m: { kind: 'memory' } });
      store.set('m', 'good');
      expect(rejection(() => store.set('m', value)).reason).toBe('invalid');
      expect(now(store.resolve('m'))).toBe('good');
    },
  );
});

describe('the environment', () => {
  test('gives its variable up, so that nothing we start inherits it, and a reload still finds it', () => {
    const env: NodeJS.ProcessEnv = { KEY: 'from-env', OTHER: 'stays' };
    const store = storeOf({ e: { kind: 'environment', variable: 'KEY' } }, env);
    expect(env).toEqual({ OTHER: 'stays' });
    store.configure(specs({ renamed: { kind: 'environment', variable: 'KEY' } }));
    expect(now(store.resolve('renamed'))).toBe('from-env');
  });
});

describe('the list', () => {
  test('tells source, state, times and faults, and never a value', async () => {
    const store = storeOf(
      {
        bad: { kind: 'file', path: join(directory, 'none') },
        c: { kind: 'command', argv: [process.execPath, '-p', '"printed"'], ttlSeconds: 60 },
        f: { kind: 'file', path: keyFile },
        m: { kind: 'memory' },
      },
      {},
    );
    const at = '2027-01-01T00:00:00.000Z';
    const nothing = {
      set: false,
      unasked: false,
      login: false,
      since: null,
      expires: null,
      lastUsed: null,
      error: null,
    };
    expect(store.list()).toEqual([
      { ...nothing, name: 'bad', source: 'file', error: expect.stringContaining('exist') },
      { ...nothing, name: 'c', source: 'command', unasked: true },
      { ...nothing, name: 'f', source: 'file', set: true, since: at },
      { ...nothing, name: 'm', source: 'memory' },
    ]);
    await store.resolve('c');
    store.set('m', 'by-hand');
    await store.resolve('f');
    const after = store.list();
    expect(after.map(({ set, lastUsed }) => [set, lastUsed])).toEqual([
      [false, null],
      [true, at],
      [true, at],
      [true, null],
    ]);
    expect(JSON.stringify(after)).not.toMatch(/printed|by-hand|from-file/);
  });

  test('keeps the fault of a command that was run', async () => {
    const argv = [process.execPath, '-e', 'process.exit(4)'];
    const store = storeOf({ c: { kind: 'command', argv, ttlSeconds: 60 } });
    await expect(store.resolve('c')).rejects.toThrow(Refusal);
    expect(store.list()[0]).toMatchObject({ set: false, error: expect.stringContaining('code 4') });
  });
});

describe('the user’s own keys', () => {
  function withUserKeys(sources: Record<string, SourceSpec>, env: NodeJS.ProcessEnv): SecretStore {
    const userKeys = new UserKeys({ home: directory, workingDirectory: directory, env });
    const store = makeSecretStore(env, { now: () => Date.UTC(2027, 0, 1), userKeys });
    store.configure(specs(sources));
    return store;
  }
  const both: Record<string, SourceSpec> = { openai: { kind: 'memory' }, anthropic: { kind: 'memory' } };

  test('stand in for a credential without a source, and the list says where they were found', () => {
    writeFileSync(join(directory, '.claude.json'), JSON.stringify({ primaryApiKey: 'sk-ant-mine' }), { mode: 0o600 });
    const store = withUserKeys(both, { OPENAI_API_KEY: 'sk-mine' });
    const listed = store.list();
    expect(listed).toMatchObject([
      { name: 'openai', source: 'environment OPENAI_API_KEY', set: true, error: null },
      { name: 'anthropic', source: '~/.claude.json', set: true, error: null },
    ]);
    expect(JSON.stringify(listed)).not.toContain('mine');
    expect([now(store.resolve('openai')), now(store.resolve('anthropic'))]).toEqual(['sk-mine', 'sk-ant-mine']);
  });

  test('are not looked for unless the store was told to', () => {
    const env = { OPENAI_API_KEY: 'sk-mine' };
    const store = storeOf(both, env);
    expect(store.resolve('openai')).toBeNull();
    expect(env).toEqual({ OPENAI_API_KEY: 'sk-mine' });
  });

  test('give way to a value set by hand, and to a source of the configuration', () => {
    const store = withUserKeys(
      { ...both, anthropic: { kind: 'file', path: keyFile } },
      { OPENAI_API_KEY: 'sk-mine', ANTHROPIC_API_KEY: 'sk-ant-mine' },
    );
    store.set('openai', 'by-hand');
    expect([now(store.resolve('openai')), now(store.resolve('anthropic'))]).toEqual(['by-hand', 'from-file']);
    expect(store.list()).toMatchObject([{ source: 'memory' }, { source: 'file' }]);
  });

  test('do not come back once they were removed', () => {
    const store = withUserKeys(both, { OPENAI_API_KEY: 'sk-mine' });
    expect([store.remove('openai'), store.remove('openai')]).toEqual([true, false]);
    store.configure(specs(both));
    expect(store.resolve('openai')).toBeNull();
    expect(store.list()[0]).toMatchObject({ source: 'memory', set: false });
    store.set('openai', 'by-hand');
    expect(now(store.resolve('openai'))).toBe('by-hand');
  });

  test('survive a reload, though their variable is gone', () => {
    const store = withUserKeys(both, { OPENAI_API_KEY: 'sk-mine' });
    expect(now(store.resolve('openai'))).toBe('sk-mine');
    store.configure(specs({}));
    store.configure(specs(both));
    expect(now(store.resolve('openai'))).toBe('sk-mine');
  });

  test('that cannot be used are not set, with the reason in the list', () => {
    writeFileSync(join(directory, '.claude.json'), '{}', { mode: 0o600 });
    chmodSync(join(directory, '.claude.json'), 0o666);
    const store = withUserKeys(both, {});
    expect(store.resolve('anthropic')).toBeNull();
    expect(store.list()[1]).toMatchObject({ set: false, error: expect.stringContaining('was left alone') });
  });
});
