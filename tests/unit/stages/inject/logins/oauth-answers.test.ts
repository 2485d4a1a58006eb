import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openKnownLogin } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import type { OAuthSource } from '../../../../../src/stages/inject/logins/oauth-source.ts';
import { jwtUntil, OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;

beforeEach(() => {
  ground = new OAuthGround();
  ground.put(path, {
    claudeAiOauth: { accessToken: 'old', refreshToken: 'r0', expiresAt: ground.nowMs - 1, scopes: ['user:inference'] },
  });
});
afterEach(() => ground.end());

const path = '.claude/.credentials.json';

function open(): OAuthSource {
  return openKnownLogin('anthropic', { kind: 'login', agent: 'claude', path: null, provider: null }, ground.deps);
}

describe('an answer that is odd in what it need not say', () => {
  test.each([
    ['scopes in a list', { scope: ['a', 'b'] }],
    ['no scope, in words', { scope: '' }],
    ['a life in words', { expires_in: 'an hour' }],
    ['a life that is over', { expires_in: -1 }],
    ['a life that is a list', { expires_in: [3600] }],
  ])('%s: the refresh token in it is saved all the same, and what was granted stays', async (_, extra) => {
    ground.extra = extra;
    expect(await tokenIn(open().current())).toBe('access-token-1');
    expect(ground.read(path)).toMatchObject({
      claudeAiOauth: { refreshToken: 'refresh-token-1', scopes: ['user:inference'] },
    });
  });

  test('a refresh token that is empty is none: the old one stays', async () => {
    ground.extra = { refresh_token: '' };
    expect(await tokenIn(open().current())).toBe('access-token-1');
    expect(ground.read(path)).toMatchObject({ claudeAiOauth: { refreshToken: 'r0' } });
  });

  test('a token that has ended already, by our clock, is not exchanged with every request', async () => {
    ground.answer = () => ({
      status: 200,
      body: { access_token: jwtUntil(ground.nowMs - 3_600_000), refresh_token: 'r1', token_type: 'Bearer' },
    });
    const source = open();
    for (let i = 0; i < 5; i++) {
      expect(await tokenIn(source.current())).toMatch(/^ey/);
      ground.pass(1);
    }
    expect(ground.asked).toHaveLength(1);
  });
});

test('no coding is asked for: a token in one that cannot be read would be lost', async () => {
  let accepts: string | undefined;
  const { call } = ground.deps;
  const deps = {
    ...ground.deps,
    call: (asked: Parameters<typeof call>[0]) => {
      accepts = asked.outgoing.headers.get('accept-encoding');
      return call(asked);
    },
  };
  await openKnownLogin('anthropic', { kind: 'login', agent: 'claude', path: null, provider: null }, deps).current();
  expect(accepts).toBe('identity');
});

test('one that takes its time is waited for when the gateway stops: the old token is spent', async () => {
  let give = (): void => {};
  ground.answer = () =>
    new Promise((resolve) => {
      give = () => resolve(null);
    });
  const source = open();
  const asked = tokenIn(source.current());
  await vi.waitFor(() => expect(ground.asked).toHaveLength(1), { timeout: 20_000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const closed = source.close();
    await vi.advanceTimersByTimeAsync(14_000);
    give();
    await closed;
  } finally {
    vi.useRealTimers();
  }
  expect(ground.read(path)).toMatchObject({ claudeAiOauth: { refreshToken: 'refresh-token-1' } });
  expect(await asked).toBe('access-token-1');
});
