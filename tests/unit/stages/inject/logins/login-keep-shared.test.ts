import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LocalLocks } from '../../../../../src/gateway/store/local-locks.ts';
import { LocalVault } from '../../../../../src/gateway/store/local-vault.ts';
import { readFromWorker } from '../../../../../src/gateway/workers/read-from-worker.ts';
import { StoreUnavailable } from '../../../../../src/path/shared-store.ts';
import type { OAuthSpec } from '../../../../../src/policy/compiled.ts';
import type { LoginSharing } from '../../../../../src/stages/inject/logins/login-keep-shared.ts';
import { fixedSource } from '../../../../../src/stages/inject/logins/oauth-fixed-source.ts';
import { openKnownLogin, openOAuth } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import type { OAuthSource } from '../../../../../src/stages/inject/logins/oauth-source.ts';
import { OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;
let vault: LocalVault;
let sharing: LoginSharing;
const written = new Map<string, { readonly value: Buffer; readonly keepMs: number }>();
let isAway: boolean;

beforeEach(() => {
  ground = new OAuthGround();
  vault = new LocalVault(() => ground.nowMs);
  isAway = false;
  written.clear();
  const locks = new LocalLocks();
  const there = (): void => {
    if (isAway) throw new StoreUnavailable('away');
  };
  sharing = {
    vault: {
      async put(key, value, keepMs) {
        there();
        written.set(key, { value, keepMs });
        await vault.put(key, value, keepMs);
      },
      async get(key) {
        there();
        return vault.get(key);
      },
      remove: (key) => vault.remove(key),
    },
    locks: {
      async exclusively(name, waitMs, act) {
        there();
        return locks.exclusively(name, waitMs, act);
      },
    },
  };
});

afterEach(() => ground.end());

/** The login of one gateway: a file of its own, with the same login in it as the others have. */
function gateway(name: string, secondsLeft = -1, refresh = 'refresh-token-0'): OAuthSource {
  const path = ground.put(`${name}/credentials.json`, {
    claudeAiOauth: {
      accessToken: 'access-token-0',
      refreshToken: refresh,
      expiresAt: ground.nowMs + secondsLeft * 1000,
      scopes: ['user:inference'],
    },
  });
  ground.good ??= refresh;
  const spec = { kind: 'login', agent: 'claude', path, provider: null } as const;
  return openKnownLogin('anthropic', spec, { ...ground.deps, sharing });
}

function savedBy(name: string): unknown {
  return (ground.read(`${name}/credentials.json`).claudeAiOauth as Record<string, unknown>).refreshToken;
}

describe('gateways that have the same login', () => {
  test('renew it once for all, however many ask at once, and each keeps the rotated refresh token', async () => {
    const all = ['a', 'b', 'c'].map((name) => gateway(name));
    const tokens = await Promise.all([...all, ...all].map((source) => tokenIn(source.current())));
    expect(new Set(tokens)).toEqual(new Set(['access-token-1']));
    expect(ground.asked).toHaveLength(1);
    expect(['a', 'b', 'c'].map(savedBy)).toEqual(Array(3).fill('refresh-token-1'));
  });

  test('go on so for as many renewals as there are, whoever makes them', async () => {
    const all = ['a', 'b'].map((name) => gateway(name));
    for (let round = 1; round <= 4; round++) {
      const [first, second] = round % 2 === 0 ? all : [...all].reverse();
      expect(await tokenIn(first!.current())).toBe(`access-token-${round}`);
      expect(await tokenIn(second!.current())).toBe(`access-token-${round}`);
      expect(ground.asked).toHaveLength(round);
      ground.pass(3600);
    }
  });

  test('a token of a short life is not renewed by each who has it from another', async () => {
    ground.lifeSeconds = 120;
    const [a, b] = [gateway('a'), gateway('b')];
    await tokenIn(a.current());
    await tokenIn(b.current());
    for (let request = 0; request < 5; request++) await tokenIn(b.current());
    await b.close();
    expect(ground.asked).toHaveLength(1);
  });

  test('who logs in anew is believed, and the login of before is not spent again', async () => {
    const [a, b] = [gateway('a'), gateway('b')];
    await tokenIn(a.current());
    await tokenIn(b.current());
    ground.pass(3600);
    ground.good = 'refresh-token-new';
    const again = gateway('a', -1, 'refresh-token-new');
    expect(await tokenIn(again.current())).toBe('access-token-2');
    expect(ground.asked.map(({ members }) => members.refresh_token)).toEqual(['refresh-token-0', 'refresh-token-new']);
  });

  test('a rejected token is renewed once, and the others get the new one', async () => {
    const [a, b] = [gateway('a'), gateway('b')];
    const first = (await a.current())!;
    await tokenIn(b.current());
    ground.pass(60);
    expect(await tokenIn(a.renewed(first))).toBe('access-token-2');
    expect(await tokenIn(b.renewed((await b.current())!))).toBe('access-token-2');
    expect(ground.asked).toHaveLength(2);
  });

  test('the refresh token outlives the access token where the others find it', async () => {
    await tokenIn(gateway('a').current());
    expect([...written.values()].map(({ keepMs }) => keepMs)).toEqual([30 * 24 * 3_600_000]);
  });

  test('while the store is away none of them spends it, what is good is used, and all is well when the store is back', async () => {
    const [a, b] = [gateway('a'), gateway('b', 60)];
    isAway = true;
    await expect(tokenIn(a.current())).rejects.toThrow(/its refresh token was not used.*away/);
    expect(await tokenIn(b.current())).toBe('access-token-0');
    await b.close();
    expect(ground.asked).toHaveLength(0);
    isAway = false;
    ground.pass(3600);
    expect(await tokenIn(a.current())).toBe('access-token-1');
    expect(await tokenIn(b.current())).toBe('access-token-1');
    expect(ground.asked).toHaveLength(1);
  });

  test('nor does one that did not get its turn, or has its turn and cannot look what the others did', async () => {
    const { locks, vault: theirs } = sharing;
    const busy = new StoreUnavailable('the lock was held elsewhere all the time');
    sharing = { vault: theirs, locks: { exclusively: () => Promise.reject(busy) } };
    await expect(tokenIn(gateway('a').current())).rejects.toThrow(/held elsewhere all the time/);
    sharing = { vault: { ...theirs, get: () => Promise.reject(new StoreUnavailable('gone')) }, locks };
    await expect(tokenIn(gateway('b').current())).rejects.toThrow(/its refresh token was not used.*gone/);
    expect(ground.asked).toHaveLength(0);
  });

  test('what is in the vault and is no login is passed over', async () => {
    await tokenIn(gateway('a').current());
    const [key] = [...written.keys()];
    for (const text of [
      '',
      'null',
      '[]',
      '{"fields":[],"replaced":[1]}',
      '{"access":{"value":7},"fields":[],"replaced":[]}',
    ]) {
      ground.pass(3600);
      await vault.put(key!, Buffer.from(text), 3_600_000);
      const refresh = ground.good!;
      expect(await tokenIn(gateway('a', -1, refresh).current())).toMatch(/^access-token-/);
    }
  });
});

const clientSpec: OAuthSpec = {
  kind: 'oauth',
  grant: 'client_credentials',
  tokenUrl: { host: 'login.example', port: 443, target: '/token' },
  clientId: 'client',
  clientSecret: null,
  clientAuth: 'none',
  refreshToken: null,
  scope: 'read',
  parameters: [],
  body: 'form',
};

function client(over: Partial<OAuthSpec> = {}): OAuthSource {
  const open = (name: string) => fixedSource(name, 'refresh-token-0');
  return openOAuth('api', { ...clientSpec, ...over }, open, { ...ground.deps, sharing });
}

describe('a refresh token whose source cannot be written', () => {
  const source = { grant: 'refresh_token', refreshToken: { kind: 'environment', variable: 'TOKEN' } } as const;

  test('is exchanged by one, and the others and those that start later go by what it was exchanged for', async () => {
    ground.good = 'refresh-token-0';
    const [a, b] = [client(source), client(source)];
    expect(await tokenIn(a.current())).toBe('access-token-1');
    expect(await tokenIn(b.current())).toBe('access-token-1');
    for (let request = 0; request < 5; request++) expect(b.current()).not.toBeInstanceOf(Promise);
    for (let round = 2; round <= 4; round++) {
      ground.pass(3600);
      expect(await tokenIn((round % 2 === 0 ? b : a).current())).toBe(`access-token-${round}`);
      expect(await tokenIn(client(source).current())).toBe(`access-token-${round}`);
    }
    expect(ground.asked.map(({ members }) => members.refresh_token)).toEqual(
      [0, 1, 2, 3].map((n) => `refresh-token-${n}`),
    );
  });
});

describe('tokens of a client, which has no refresh token', () => {
  beforeEach(() => {
    ground.rotates = false;
  });

  test('are asked for once for all, and kept for others no longer than they live', async () => {
    const tokens = await Promise.all([client(), client(), client()].map((source) => tokenIn(source.current())));
    expect(tokens).toEqual(Array(3).fill('access-token-1'));
    expect([...written.values()].map(({ keepMs }) => keepMs)).toEqual([3_600_000]);
    ground.pass(3600);
    expect(await tokenIn(client().current())).toBe('access-token-2');
    expect(ground.asked).toHaveLength(2);
  });

  test('are asked for while the store is away too: nothing is spent by it', async () => {
    isAway = true;
    expect(await tokenIn(client().current())).toBe('access-token-1');
  });

  test('are not taken for those of another scope, client or endpoint', async () => {
    const others = [
      { scope: 'write' },
      { clientId: 'other' },
      { tokenUrl: { ...clientSpec.tokenUrl, host: 'other.example' } },
    ];
    for (const over of [{}, ...others]) await tokenIn(client(over).current());
    expect(ground.asked).toHaveLength(4);
  });

  test('are kept under a name that a worker may say, however many scopes they have', async () => {
    const scopes = Array.from({ length: 40 }, (_, i) => `https://api.example/auth/scope-${i}`);
    const many = { scope: scopes.join(' ') };
    expect(await tokenIn(client(many).current())).toBe('access-token-1');
    expect(await tokenIn(client(many).current())).toBe('access-token-1');
    expect(await tokenIn(client({ scope: `${many.scope} more` }).current())).toBe('access-token-2');
    expect(written.size).toBe(2);
    for (const key of written.keys()) expect(readFromWorker.get({ key })).toEqual({ key });
  });
});
