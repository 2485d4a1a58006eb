import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openKnownLogin } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import type { OAuthSource } from '../../../../../src/stages/inject/logins/oauth-source.ts';
import { SourceError } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;

beforeEach(() => {
  ground = new OAuthGround();
});
afterEach(() => ground.end());

const path = '.claude/.credentials.json';

function logIn(secondsLeft: number, access = 'access-token-0', refresh: string | undefined = 'refresh-token-0'): void {
  ground.put(path, {
    claudeAiOauth: {
      accessToken: access,
      refreshToken: refresh,
      expiresAt: ground.nowMs + secondsLeft * 1000,
      scopes: ['user:inference'],
      subscriptionType: 'max',
    },
  });
  if (refresh !== undefined) ground.good = refresh;
}

function open(): OAuthSource {
  return openKnownLogin('anthropic', { kind: 'login', agent: 'claude', path: null, provider: null }, ground.deps);
}

function savedRefresh(): unknown {
  return (ground.read(path).claudeAiOauth as Record<string, unknown>).refreshToken;
}

describe('a token that is good', () => {
  test('is handed out at once, as a login with its end, and nobody is asked', async () => {
    logIn(3600);
    const source = open();
    const found = source.current();
    expect(found).not.toBeInstanceOf(Promise);
    expect(await tokenIn(found)).toBe('access-token-0');
    expect(await found).toMatchObject({ login: true, expiresAtMs: ground.nowMs + 3_600_000, name: 'anthropic' });
    expect(source.current()).toBe(found);
    expect(ground.asked).toEqual([]);
  });

  test('is renewed in the background when it is used in the last part of its life', async () => {
    logIn(9 * 60);
    const source = open();
    expect(await tokenIn(source.current())).toBe('access-token-0');
    await source.close();
    expect(source.current()).not.toBeInstanceOf(Promise);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(savedRefresh()).toBe('refresh-token-1');
    expect(ground.asked).toHaveLength(1);
  });

  test('is not renewed early, and one of a short life only in its last quarter', async () => {
    logIn(-1);
    ground.lifeSeconds = 60;
    const source = open();
    expect(await tokenIn(source.current())).toBe('access-token-1');
    ground.pass(44);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    await source.close();
    expect(ground.asked).toHaveLength(1);
    ground.pass(2);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    await source.close();
    expect(ground.asked).toHaveLength(2);
  });

  test('goes on being used when it cannot be renewed early, and the endpoint is left alone for a while', async () => {
    logIn(9 * 60);
    ground.answer = () => ({ status: 503, body: 'out of order' });
    const source = open();
    for (let i = 0; i < 5; i++) {
      expect(await tokenIn(source.current())).toBe('access-token-0');
      await source.close();
    }
    expect(ground.asked).toHaveLength(1);
  });
});

describe('a token that has ended', () => {
  test('is exchanged once for all who wait, with exactly what the agent would send', async () => {
    logIn(-1);
    const source = open();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => tokenIn(source.current())));
    expect(new Set(tokens)).toEqual(new Set(['access-token-1']));
    expect(ground.asked).toEqual([
      {
        host: 'platform.claude.com',
        target: '/v1/oauth/token',
        contentType: 'application/json',
        authorization: null,
        origin: null,
        members: {
          grant_type: 'refresh_token',
          refresh_token: 'refresh-token-0',
          client_id: '9d1c250a-e61b-44d9-88ed-5944d1962f5e',
          scope: 'user:inference',
        },
      },
    ]);
  });

  test('old and new, access and refresh: all are noted as values to keep in', async () => {
    logIn(-1);
    await open().current();
    expect([...ground.noted].sort()).toEqual([
      'access-token-0',
      'access-token-1',
      'refresh-token-0',
      'refresh-token-1',
    ]);
  });

  test('without a refresh token is told to the operator, with what to do', async () => {
    ground.put(path, { claudeAiOauth: { accessToken: 'access-token-0', expiresAt: ground.nowMs - 1 } });
    await expect(tokenIn(open().current())).rejects.toThrow(
      'the login in ~/.claude/.credentials.json has ended and cannot be renewed: run `claude auth login`',
    );
    expect(ground.asked).toEqual([]);
  });

  test('nobody is logged in: there is nothing, and no fault', () => {
    expect(open().current()).toBeNull();
    ground.put(path, { somethingElse: true });
    ground.pass(2);
    expect(open().current()).toBeNull();
  });
});

describe('an endpoint that fails', () => {
  test('is asked again after 2 seconds, then after longer and longer, never more than 5 minutes', async () => {
    logIn(-1);
    ground.answer = () => ({ status: 500, body: { error: 'server_error' } });
    const source = open();
    const askedAt: number[] = [];
    for (let second = 0; second < 2400; second++) {
      const before = ground.asked.length;
      await expect(tokenIn(source.current())).rejects.toThrow(SourceError);
      if (ground.asked.length > before) askedAt.push(second);
      ground.pass(1);
    }
    const pauses = askedAt.slice(1).map((second, i) => second - askedAt[i]!);
    expect(pauses[0]).toBeGreaterThanOrEqual(2);
    expect(pauses[0]).toBeLessThanOrEqual(3);
    expect(pauses[2]).toBeGreaterThanOrEqual(8);
    expect(pauses.slice(8).every((pause) => pause === 300)).toBe(true);
    expect(pauses.length).toBeGreaterThan(10);
  });

  test('stays the problem that the operator is shown until it is mended, though its pause is over', async () => {
    logIn(-1);
    ground.answer = () => ({ status: 500, body: { error: 'server_error' } });
    const source = open();
    await expect(tokenIn(source.current())).rejects.toThrow(SourceError);
    ground.pass(3600);
    expect(source.problem).toBe('platform.claude.com gave no token: server_error, status 500');
    ground.answer = null;
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(source.problem).toBeNull();
  });

  test('and works again: everything is as before', async () => {
    logIn(-1);
    ground.answer = () => ({ status: 500, body: '' });
    const source = open();
    await expect(tokenIn(source.current())).rejects.toThrow('status 500');
    ground.answer = null;
    await expect(tokenIn(source.current())).rejects.toThrow('status 500');
    ground.pass(3);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(source.problem).toBeNull();
  });

  test('is told where the operator must act upon it, not among the news', async () => {
    logIn(-1);
    ground.answer = () => ({ status: 500, body: '' });
    const alarms: string[] = [];
    const source = openKnownLogin(
      'anthropic',
      { kind: 'login', agent: 'claude', path: null, provider: null },
      { ...ground.deps, alarm: (what) => alarms.push(what) },
    );
    await expect(tokenIn(source.current())).rejects.toThrow('status 500');
    expect(alarms).toEqual(['a token could not be renewed']);
    expect(ground.reports).toEqual([]);
  });

  test('a network that is down is told as such', async () => {
    logIn(-1);
    const source = openKnownLogin(
      'anthropic',
      { kind: 'login', agent: 'claude', path: null, provider: null },
      { ...ground.deps, call: () => Promise.reject(new Error('no route to host')) },
    );
    await expect(tokenIn(source.current())).rejects.toThrow(
      'platform.claude.com could not be asked for a token: no route to host',
    );
  });

  test.each([
    ['invalid_grant', { error: 'invalid_grant' }],
    ['refresh_token_reused', { error: { code: 'refresh_token_reused', message: 'used' } }],
  ])('a login that it declares dead (%s) is not tried again until there is another', async (code, body) => {
    logIn(-1);
    ground.answer = () => ({ status: 400, body });
    const source = open();
    const words = `platform.claude.com does not take the login in ~/.claude/.credentials.json any more (${code}, status 400): run \`claude auth login\``;
    for (let i = 0; i < 3; i++) {
      await expect(tokenIn(source.current())).rejects.toThrow(words);
      ground.pass(1000);
    }
    expect(ground.asked).toHaveLength(1);
    expect(ground.reports.at(-1)?.detail).toMatchObject({ credential: 'anthropic', error: words });
    ground.answer = null;
    logIn(-1, 'access-token-new', 'refresh-token-new');
    expect(await tokenIn(source.current())).toBe('access-token-1');
  });
});

describe('an upstream that rejects the token (401)', () => {
  test('gets another, and however many are rejected at once, one is fetched', async () => {
    logIn(3600);
    const source = open();
    const secret = await source.current();
    if (secret === null) throw new Error('nobody is logged in');
    const others = await Promise.all(Array.from({ length: 10 }, () => tokenIn(source.renewed(secret))));
    expect(new Set(others)).toEqual(new Set(['access-token-1']));
    expect(ground.asked).toHaveLength(1);
    // The eleventh comes late with the old one.
    expect(await tokenIn(source.renewed(secret))).toBe('access-token-1');
    expect(ground.asked).toHaveLength(1);
  });

  test('a token that was fetched a moment ago is not exchanged again, nor over and over later', async () => {
    logIn(-1);
    ground.lifeSeconds = 100_000;
    const source = open();
    const asked = async (): Promise<number> => {
      const secret = await source.current();
      if (secret !== null) await source.renewed(secret);
      return ground.asked.length;
    };
    expect(await asked()).toBe(1);
    ground.pass(31);
    expect(await asked()).toBe(2);
    // A sandbox that provokes a 401 every second for half an hour.
    for (let i = 0; i < 1800; i++) {
      ground.pass(1);
      await asked();
    }
    expect(ground.asked.length).toBeGreaterThan(3);
    expect(ground.asked.length).toBeLessThan(10);
  });

  test('a token that the agent of the user has put into the file meanwhile is taken instead', async () => {
    logIn(3600);
    const source = open();
    const secret = await source.current();
    if (secret === null) throw new Error('nobody is logged in');
    logIn(3600, 'access-token-of-claude', 'refresh-token-of-claude');
    expect(await tokenIn(source.renewed(secret))).toBe('access-token-of-claude');
    expect(ground.asked).toEqual([]);
  });

  test('where nothing better can be had there is nothing, and no error', async () => {
    logIn(3600);
    ground.answer = () => ({ status: 400, body: { error: 'invalid_grant' } });
    const source = open();
    const secret = await source.current();
    if (secret === null) throw new Error('nobody is logged in');
    expect(await source.renewed(secret)).toBeNull();
    expect(await source.renewed(secret)).toBeNull();
    expect(ground.asked).toHaveLength(1);
    rmSync(join(ground.home, path));
    expect(await source.renewed(secret)).toBeNull();
  });
});

describe('a listing', () => {
  test('sees an ended token as it is and asks nobody', async () => {
    logIn(-1);
    const source = open();
    expect(await tokenIn(source.listed())).toBe('access-token-0');
    expect(source.origin).toBe('~/.claude/.credentials.json');
    expect(source.isLoggedIn()).toBe(true);
    expect(ground.asked).toEqual([]);
    writeFileSync(join(ground.home, path), 'not json at all');
    ground.pass(5000);
    expect(() => open().listed()).toThrow('~/.claude/.credentials.json is not what its agent writes');
  });
});
