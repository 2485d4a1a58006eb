import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderFor } from '../../../src/kit/text/placeholder.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { runClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const hosts = [
  'platform.claude.com',
  'console.anthropic.com',
  'api.anthropic.com',
  'gitlab.com',
  'auth.openai.com',
  'chatgpt.com',
  'oauth2.googleapis.com',
];
const claude = 'https://platform.claude.com/v1/oauth/token';
const chatgpt = 'https://auth.openai.com/oauth/token';
const google = 'https://oauth2.googleapis.com/token';
/** The far side would hand out tokens to whoever reaches it. */
let upstream: FakeUpstream;
let gateway: TestGateway;
let sandbox: { readonly id: string };

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, hosts, (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: 'a-real-token', refresh_token: 'another-real-token' }));
  });
  gateway = await startTestGateway({
    allow: [{ preset: 'anthropic' }, { preset: 'openai' }, { preset: 'google' }, { preset: 'gitlab' }],
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  sandbox = await gateway.register({ container_ip: '127.0.0.1', credentials: ['anthropic', 'chatgpt', 'gitlab'] });
  await gateway.setSecret('anthropic', 'the-real-api-key-of-ada');
  await gateway.setSecret('chatgpt', 'the-real-access-token-of-ada');
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function post(url: string, body: object, ...args: string[]): Promise<{ status: number; answer: string }> {
  const json = ['-H', 'content-type: application/json', '-d', JSON.stringify(body)];
  const common = ['-sS', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-m', '30', '-w', '\n%{http_code}'];
  const run = await runClient('curl', [...common, ...json, ...args, url]);
  const at = run.stdout.lastIndexOf('\n');
  return { status: Number(run.stdout.slice(at + 1)), answer: run.stdout.slice(0, at) };
}

const renewal = (credential: string): object => ({
  grant_type: 'refresh_token',
  refresh_token: placeholderFor(credential),
});

describe('no real token is handed to a sandbox, because no login is made there', () => {
  test.each([
    ['the code of a login in a browser', claude, { grant_type: 'authorization_code', code: 'c', code_verifier: 'v' }],
    ['the same at another host of the provider', claude.replace('platform.claude', 'console.anthropic'), { code: 'c' }],
    ['a token of a workload', 'https://api.anthropic.com/v1/oauth/token', { grant_type: 'jwt-bearer', assertion: 'a' }],
    ['the code that somebody typed in elsewhere', 'https://gitlab.com/oauth/token', { grant_type: 'device_code' }],
    ['the code of another device', chatgpt, { grant_type: 'authorization_code', code: 'c', redirect_uri: 'r' }],
    ['a token that was found somewhere', chatgpt, { grant_type: 'refresh_token', refresh_token: 'rt_found-somewhere' }],
    ['a token for a key', chatgpt, { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' }],
  ])('%s is not exchanged', async (_, url, body) => {
    for (const version of ['--http1.1', '--http2']) {
      const { status, answer } = await post(url, body, version);
      expect(status).toBe(403);
      expect(JSON.parse(answer)).toMatchObject({
        code: 'token.login-outside',
        hint: expect.stringContaining('outside the sandbox'),
      });
    }
    expect(upstream.seen).toEqual([]);
  });

  test('a placeholder is exchanged for a placeholder, here', async () => {
    const { status, answer } = await post(claude, renewal('anthropic'));
    expect(status).toBe(200);
    expect(JSON.parse(answer).access_token).toBe(placeholderFor('anthropic', 'sk-ant-oat01-'));
    expect(upstream.seen).toEqual([]);
  });

  test.each([
    ['escapes', 'https://auth.openai.com/oauth/%74oken'],
    ['a question behind it', `${chatgpt}?grant_type=authorization_code`],
    ['dots', 'https://auth.openai.com/oauth/./token'],
    ['a slash behind it', `${chatgpt}/`],
    ['two slashes', 'https://auth.openai.com//oauth/token'],
    ['capitals', 'https://auth.openai.com/OAuth/Token'],
    ['a semicolon', `${chatgpt};x`],
    ['the way to a new login', 'https://auth.openai.com/api/accounts/deviceauth/usercode'],
    ['the end of a login', `${claude}/revoke`],
    ['a slash behind it, where all paths are open', 'https://api.anthropic.com/v1/oauth/token/'],
    ['two slashes, where all paths are open', 'https://api.anthropic.com/v1/oauth//token'],
    ['capitals, where all paths are open', 'https://gitlab.com/OAuth/token'],
  ])('another spelling or another path (%s) does not get through either', async (_, url) => {
    const { status, answer } = await post(url, { grant_type: 'authorization_code', code: 'c' }, '--path-as-is');
    expect([400, 403]).toContain(status);
    expect(answer).not.toContain('real');
    expect(upstream.seen).toEqual([]);
  });

  test('the accounts behind a login are not shown, and the real token does not go there', async () => {
    const accounts = 'https://chatgpt.com/backend-api/wham/accounts/check';
    const { status, answer } = await post(accounts, {}, '--get', '-H', `authorization: ${placeholderFor('chatgpt')}`);
    expect(status).toBe(200);
    expect(JSON.parse(answer).accounts).toHaveLength(1);
    expect(upstream.seen).toEqual([]);
  });

  test('a sandbox that may not use a credential is not even given its placeholder', async () => {
    const { status, answer } = await post(google, renewal('gemini'));
    expect(status).toBe(403);
    expect(JSON.parse(answer)).toMatchObject({ code: 'token.login-outside', rule: 'credentials.gemini' });
    expect(upstream.seen).toEqual([]);
  });

  test('nor is a credential promised for it by `sallyport check`', async () => {
    const asked = { sandbox: sandbox.id, method: 'POST', url: 'https://api.anthropic.com/v1/oauth/token' };
    const check = async (body?: object): Promise<unknown> => {
      const given = body === undefined ? asked : { ...asked, body: JSON.stringify(body) };
      return (await gateway.admin('POST', '/internal/check', given)).json();
    };
    expect(await check(renewal('anthropic'))).toMatchObject({ allowed: true, credential: null });
    expect(await check({ code: 'c' })).toMatchObject({ allowed: false, code: 'token.login-outside' });
    expect(await check()).toMatchObject({ allowed: false, code: 'undecided', credential: null });
  });

  test('a body without an end is not read for ever', async () => {
    const { status } = await post(claude, { ...renewal('anthropic'), more: 'x'.repeat(100_000) });
    expect(status).toBe(413);
  });
});
