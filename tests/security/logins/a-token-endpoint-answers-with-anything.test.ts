// Guards: whoever answers in the place of a token endpoint, or has taken one over. Nothing of what it says may become a
// header field, a request to somebody else, words in an error, or the end of the login that was there.
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openKnownLogin } from '../../../src/stages/inject/logins/oauth-open.ts';
import type { OAuthSource } from '../../../src/stages/inject/logins/oauth-source.ts';
import { SourceError } from '../../../src/stages/inject/sources/secret-source.ts';
import { OAuthGround, tokenIn } from '../../unit/stages/inject/logins/oauth-ground.ts';

const planted = 'PLANTED-refresh-token-0a1b2c';
const path = '.claude/.credentials.json';
const before = { claudeAiOauth: { accessToken: 'old-access', refreshToken: planted, expiresAt: 1, scopes: ['a'] } };
let ground: OAuthGround;
let source: OAuthSource;

beforeEach(() => {
  ground = new OAuthGround();
  ground.put(path, before);
  source = openKnownLogin('anthropic', { kind: 'login', agent: 'claude', path: null, provider: null }, ground.deps);
});
afterEach(() => ground.end());

const token = { access_token: 'fine', token_type: 'Bearer', expires_in: 60 };

test.each<[string, number, string | object]>([
  ['a page', 200, `<html>${planted}</html>`],
  ['nothing', 200, ''],
  ['a list', 200, [token]],
  ['a word', 200, JSON.stringify(planted)],
  ['half an answer', 200, '{"access_token":"fine","tok'],
  ['no token', 200, { token_type: 'Bearer' }],
  ['a token that is a number', 200, { ...token, access_token: 12345678 }],
  ['an empty token', 200, { ...token, access_token: '' }],
  ['a token with a line end in it', 200, { ...token, access_token: 'fine\r\nX-Injected: yes' }],
  ['a token with a space', 200, { ...token, access_token: 'fine token' }],
  ['a token that is not ASCII', 200, { ...token, access_token: 'fíne' }],
  ['a token without end', 200, { ...token, access_token: 'x'.repeat(70_000) }],
  ['a refresh token with a line end in it', 200, { ...token, refresh_token: 'r\nr' }],
  ['a kind of token that needs a proof', 200, { ...token, token_type: 'DPoP' }],
  ['an unknown kind of token', 200, { ...token, token_type: planted }],
  ['more than is read', 200, { ...token, filler: 'x'.repeat(300 * 1024) }],
  ['an error that is the token', 400, { error: planted, error_description: planted }],
  ['an error inside of an error', 500, { error: { code: planted, message: planted } }],
  ['an error as status 200', 200, { ...token, error: 'access_denied' }],
  ['a place elsewhere', 302, { ...token, location: 'https://evil.example/' }],
  ['a token with another status', 201, token],
])('%s', async (_what, status, body) => {
  ground.answer = () => ({ status, body });
  const failure = await tokenIn(source.current()).then(
    (found) => `a token: ${found}`,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(SourceError);
  // One question, to the endpoint and nobody else.
  expect(ground.asked.map(({ host }) => host)).toEqual(['platform.claude.com']);
  const words = inspect([failure, ground.reports, source.problem], { depth: 10, showHidden: true });
  for (const told of [planted, 'PLANTED', 'old-access', 'X-Injected', 'fine']) expect(words).not.toContain(told);
  // The login is as it was: when the endpoint is itself again, it goes on.
  expect(ground.read(path)).toEqual(before);
  ground.answer = null;
  ground.pass(600);
  expect(await tokenIn(source.current())).toBe('access-token-1');
  expect(ground.asked.at(-1)?.members.refresh_token).toBe(planted);
});

test('a token that says it lives for ever or not at all is believed for a sensible time', async () => {
  ground.answer = () => ({ status: 200, body: { ...token, expires_in: 1e300 } });
  expect((await source.current())?.expiresAtMs).toBeLessThan(ground.nowMs + 11 * 366 * 86_400_000);
  ground.put(path, before);
  ground.answer = () => ({ status: 200, body: { ...token, expires_in: 0 } });
  const other = openKnownLogin(
    'anthropic',
    { kind: 'login', agent: 'claude', path: null, provider: null },
    ground.deps,
  );
  ground.asked.length = 0;
  for (let i = 0; i < 20; i++) await other.current();
  expect(ground.asked).toHaveLength(1);
});

test('who it says the user is changes nothing: the account stays that of the file', async () => {
  const claims = Buffer.from(JSON.stringify({ iss: 'https://evil.example', chatgpt_account_id: 'evil' }));
  const idToken = `e30.${claims.toString('base64url')}.c2ln`;
  ground.put('.codex/auth.json', {
    tokens: { access_token: 'e30.eyJleHAiOjF9.c2ln', refresh_token: 'r', account_id: 'mine' },
  });
  ground.answer = () => ({ status: 200, body: { ...token, id_token: idToken } });
  const codex = openKnownLogin('chatgpt', { kind: 'login', agent: 'codex', path: null, provider: null }, ground.deps);
  expect((await codex.current())?.fields).toEqual([['ChatGPT-Account-Id', 'mine']]);
  expect(ground.read('.codex/auth.json')).toMatchObject({ tokens: { account_id: 'mine', id_token: idToken } });
});

test('a file with an account that would be a header field of its own sends none', () => {
  const account = 'x\r\nX-Injected: yes';
  ground.put('.local/share/opencode/auth.json', {
    openai: { type: 'oauth', access: 'a-token', refresh: 'r', expires: ground.nowMs + 4e6, accountId: account },
  });
  const spec = { kind: 'login', agent: 'opencode', path: null, provider: null } as const;
  expect(openKnownLogin('chatgpt', spec, ground.deps).current()).toMatchObject({ fields: [] });
});
