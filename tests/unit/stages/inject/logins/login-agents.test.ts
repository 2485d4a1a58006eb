import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLogin } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import { jwtUntil, OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;

beforeEach(() => {
  ground = new OAuthGround();
});
afterEach(() => ground.end());

/** Unknown members, as other versions of an agent may have them; one that is a name of JavaScript's. */
const unknown = { later: [1, { deep: null }], __proto__x: 1.5, text: 'ü "quoted" \\ \u2028' };

describe('each agent keeps its login in its own way', () => {
  test('claude', async () => {
    const path = '.claude/.credentials.json';
    const entry = { accessToken: 'old', refreshToken: 'r0', expiresAt: 1, subscriptionType: 'max', ...unknown };
    ground.put(path, { mcpOAuth: { x: { accessToken: 'other' } }, claudeAiOauth: entry, ...unknown });
    ground.extra = { scope: 'user:profile user:inference' };
    expect(await tokenIn(ground.open('anthropic', 'claude').current())).toBe('access-token-1');
    expect(ground.asked[0]?.members.scope).toContain('user:inference user:sessions:claude_code');
    expect(ground.read(path)).toEqual({
      mcpOAuth: { x: { accessToken: 'other' } },
      claudeAiOauth: {
        ...entry,
        accessToken: 'access-token-1',
        refreshToken: 'refresh-token-1',
        expiresAt: ground.nowMs + 3_600_000,
        scopes: ['user:profile', 'user:inference'],
      },
      ...unknown,
    });
  });

  test('codex: the token says itself when it ends, and the account goes out with it', async () => {
    const path = '.codex/auth.json';
    const old = jwtUntil(ground.nowMs - 1000);
    const next = jwtUntil(ground.nowMs + 864_000_000);
    const tokens = { id_token: 'old-id', access_token: old, refresh_token: 'r0', account_id: 'acc-1', ...unknown };
    ground.put(path, { OPENAI_API_KEY: null, tokens, last_refresh: '2026-01-01T00:00:00Z', ...unknown });
    ground.lifeSeconds = null;
    ground.extra = { access_token: next, id_token: 'new-id-token', token_type: undefined };
    const found = await ground.open('chatgpt', 'codex').current();
    expect(await tokenIn(found)).toBe(next);
    expect(found).toMatchObject({
      login: true,
      expiresAtMs: ground.nowMs + 864_000_000,
      fields: [['ChatGPT-Account-Id', 'acc-1']],
    });
    expect(ground.asked).toMatchObject([
      {
        host: 'auth.openai.com',
        target: '/oauth/token',
        contentType: 'application/json',
        members: {
          grant_type: 'refresh_token',
          refresh_token: 'r0',
          client_id: 'app_EMoamEEZ73f0CkXaXp7hrann',
          refresh_reason: 'scheduled',
        },
      },
    ]);
    expect(ground.read(path)).toEqual({
      OPENAI_API_KEY: null,
      tokens: { ...tokens, id_token: 'new-id-token', access_token: next, refresh_token: 'refresh-token-1' },
      last_refresh: new Date(ground.nowMs).toISOString(),
      ...unknown,
    });
    expect([...ground.noted]).toContain('new-id-token');
  });

  test('codex: an account that could not be one does not become a field', async () => {
    for (const account of ['a\r\nX-Other: b', 'a b', 'a, b', 'x'.repeat(129), 7]) {
      ground.put('.codex/auth.json', { tokens: { refresh_token: 'r0', account_id: account } });
      ground.good = null;
      expect(await ground.open('chatgpt', 'codex').current()).toMatchObject({ fields: [] });
    }
  });

  test('codex: the account goes out with a token that had to be asked for first', async () => {
    ground.put('.codex/auth.json', { tokens: { refresh_token: 'r0', account_id: 'acc-1' } });
    const found = await ground.open('chatgpt', 'codex').current();
    expect(await tokenIn(found)).toBe('access-token-1');
    expect(found?.fields).toEqual([['ChatGPT-Account-Id', 'acc-1']]);
  });

  test('codex with an API key in force has no login, whatever is left in the file', () => {
    ground.put('.codex/auth.json', { auth_mode: 'apikey', tokens: { access_token: 'a', refresh_token: 'r' } });
    expect(ground.open('chatgpt', 'codex').current()).toBeNull();
  });

  test('gemini: the refresh token stays the same', async () => {
    const path = '.gemini/oauth_creds.json';
    const before = { access_token: 'old', refresh_token: 'r0', scope: 'a b', token_type: 'Bearer', expiry_date: 5 };
    ground.put(path, { ...before, ...unknown });
    ground.rotates = false;
    ground.extra = { id_token: 'an-id-token' };
    const source = ground.open('gemini', 'gemini');
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(ground.asked).toMatchObject([
      {
        host: 'oauth2.googleapis.com',
        target: '/token',
        contentType: 'application/x-www-form-urlencoded',
        members: {
          grant_type: 'refresh_token',
          refresh_token: 'r0',
          client_id: expect.stringMatching(/^681255809395-.*\.apps\.googleusercontent\.com$/),
          client_secret: expect.stringMatching(/^GOCSPX-/),
        },
      },
    ]);
    expect(ground.read(path)).toEqual({
      ...before,
      ...unknown,
      access_token: 'access-token-1',
      id_token: 'an-id-token',
      expiry_date: ground.nowMs + 3_600_000,
    });
    ground.pass(3600);
    expect(await tokenIn(source.current())).toBe('access-token-2');
  });

  test.each([
    ['anthropic', 'anthropic', 'platform.claude.com', 'application/json'],
    ['chatgpt', 'openai', 'auth.openai.com', 'application/x-www-form-urlencoded'],
    ['xai', 'xai', 'auth.x.ai', 'application/x-www-form-urlencoded'],
    ['gitlab', 'gitlab', 'gitlab.com', 'application/x-www-form-urlencoded'],
  ])('opencode: the login for %s is its entry %s', async (name, provider, host, contentType) => {
    const path = '.local/share/opencode/auth.json';
    const entry = { type: 'oauth', access: 'old', refresh: 'r0', expires: 1, accountId: 'acc-2', ...unknown };
    const others = {
      google: { type: 'api', key: 'k' },
      other: { type: 'oauth', access: 'x', refresh: 'y', expires: 0 },
    };
    ground.put(path, { [provider]: entry, ...others });
    const found = await ground.open(name, 'opencode').current();
    expect(found?.fields).toEqual(provider === 'openai' ? [['ChatGPT-Account-Id', 'acc-2']] : []);
    expect(ground.asked).toMatchObject([{ host, contentType, members: { refresh_token: 'r0' } }]);
    const renewed = { access: 'access-token-1', refresh: 'refresh-token-1', expires: ground.nowMs + 3_600_000 };
    expect(ground.read(path)).toEqual({ [provider]: { ...entry, ...renewed }, ...others });
  });

  test('opencode: its login at GitHub goes out as it is and is never renewed', async () => {
    const path = '.local/share/opencode/auth.json';
    ground.put(path, { 'github-copilot': { type: 'oauth', access: 'a', refresh: 'gho_token', expires: 0 } });
    const source = ground.open('copilot', 'opencode');
    const found = await source.current();
    expect(await tokenIn(found)).toBe('gho_token');
    expect(found).toMatchObject({ login: true, expiresAtMs: null });
    if (found !== null) expect(await source.renewed(found)).toBeNull();
    expect(ground.asked).toEqual([]);
    // Of an enterprise: for another host.
    const enterpriseUrl = 'ghe.example';
    ground.put(path, { 'github-copilot': { type: 'oauth', access: 'a', refresh: 'b', expires: 0, enterpriseUrl } });
    expect(ground.open('copilot', 'opencode').current()).toBeNull();
  });

  test('opencode: a login at an instance of GitLab goes to no other', () => {
    const path = '.local/share/opencode/auth.json';
    const at = (enterpriseUrl: string): object => ({
      gitlab: { type: 'oauth', access: 'a-token', refresh: 'r', expires: ground.nowMs + 4e6, enterpriseUrl },
    });
    ground.put(path, at('https://gitlab.com'));
    expect(ground.open('gitlab', 'opencode').current()).not.toBeNull();
    ground.put(path, at('https://gitlab.corp.example'));
    expect(ground.open('gitlab', 'opencode').current()).toBeNull();
  });

  test('opencode: a key of Poe that has ended is told, with what to do', async () => {
    const entry = { type: 'oauth', access: 'poe-key', refresh: 'poe-key', expires: ground.nowMs + 4e6 };
    ground.put('.local/share/opencode/auth.json', { poe: entry });
    const source = ground.open('poe', 'opencode');
    expect(await tokenIn(source.current())).toBe('poe-key');
    ground.pass(4000);
    await expect(tokenIn(source.current())).rejects.toThrow('cannot be renewed: run `opencode auth login` (poe)');
    expect(ground.asked).toEqual([]);
  });

  test('opencode: an entry that nobody knows how to renew is told with those that are known', () => {
    expect(() => ground.open('my-api', 'opencode', 'snowflake')).toThrow(
      "of opencode's logins these can be used: anthropic, openai, github-copilot, xai, gitlab, poe. Name one as `provider`",
    );
    expect(() => ground.open('my-api', 'opencode', '__proto__')).toThrow('can be used');
    const spec = { kind: 'login', agent: 'opencode', path: null, provider: 'snowflake' } as const;
    expect(() => openLogin('my-api', spec, ground.deps).current(null)).toThrow('can be used');
  });
});
