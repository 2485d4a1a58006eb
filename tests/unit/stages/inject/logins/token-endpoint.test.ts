import { describe, expect, test } from 'vitest';
import { placeholderFor } from '../../../../../src/kit/text/placeholder.ts';
import type { BodyWriter, Exchange } from '../../../../../src/path/exchange/exchange.ts';
import type { CanonicalRequest } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import type { TokenAnswer } from '../../../../../src/policy/compiled.ts';
import { SandboxTokenEndpoint } from '../../../../../src/stages/inject/logins/token-endpoint.ts';
import { authorized, spec } from '../authorized-flow.ts';

const nowMs = Date.UTC(2027, 0, 1);
const form = 'application/x-www-form-urlencoded';
const json = 'application/json';

interface Asked {
  readonly answers?: TokenAnswer;
  readonly credential?: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly canonical?: Partial<CanonicalRequest>;
  readonly granted?: readonly string[] | null;
}

/** As much of an exchange as a body needs. */
function exchangeWith(body: Buffer): Exchange {
  const exchange = {
    requestFraming: { kind: 'chunked' },
    onAbandoned: null,
    asPayload: () => exchange,
    sendBody(to: BodyWriter) {
      for (let at = 0; at < body.length; at += 16_384) to.write(body.subarray(at, at + 16_384));
      to.end(null);
    },
  };
  return exchange as unknown as Exchange;
}

async function ask(asked: Asked): Promise<Record<string, unknown>> {
  const { answers = 'claude', credential = 'anthropic', body = '', type = json } = asked;
  const flow = {
    ...authorized({
      canonical: { host: 'login.example', path: '/token', rawPath: '/token', ...asked.canonical },
      headers: [['Content-Type', type], ...(asked.headers ?? [])],
      credentials: asked.granted ?? null,
    }),
    exchange: exchangeWith(Buffer.from(body)),
  };
  const endpoint = { host: 'login.example', path: '/token', answers };
  const answer = await new SandboxTokenEndpoint(() => nowMs).answer(flow, spec(credential, {}), endpoint);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('content-type')).toBe(json);
  return JSON.parse(answer.body.toString()) as Record<string, unknown>;
}

async function refusalOf(asked: Asked): Promise<Refusal> {
  const error = await ask(asked).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Refusal);
  return error as Refusal;
}

const renewal = (credential: string, prefix = ''): object => ({
  grant_type: 'refresh_token',
  refresh_token: placeholderFor(credential, prefix),
  client_id: 'public',
});
const asJson = (credential: string): string => JSON.stringify(renewal(credential));
const asForm = (credential: string): string =>
  new URLSearchParams(renewal(credential) as Record<string, string>).toString();

function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}

describe('a placeholder is exchanged for placeholders of the right shape', () => {
  test('claude', async () => {
    expect(await ask({ body: asJson('anthropic') })).toEqual({
      token_type: 'Bearer',
      access_token: placeholderFor('anthropic', 'sk-ant-oat01-'),
      refresh_token: placeholderFor('anthropic', 'sk-ant-ort01-'),
      expires_in: 86_400,
      scope: 'user:inference',
    });
  });

  test.each([
    ['codex, which writes JSON', asJson('chatgpt'), json],
    ['opencode, which writes a form', asForm('chatgpt'), `${form}; charset=utf-8`],
  ])('%s, with claims about a placeholder account', async (_, body, type) => {
    const answer = await ask({ answers: 'chatgpt', credential: 'chatgpt', body, type });
    for (const token of [answer.access_token, answer.id_token]) {
      expect(token).toMatch(/^[\w-]+\.[\w-]+\.sallyport-placeholder-for-chatgpt-/);
      expect(claimsOf(token)).toMatchObject({
        exp: nowMs / 1000 + 86_400,
        'https://api.openai.com/auth': { chatgpt_account_id: '00000000-0000-4000-8000-000000000000' },
      });
    }
    expect(answer.refresh_token).toBe(placeholderFor('chatgpt', 'rt_'));
  });

  test('google, which leaves the refresh token as it is', async () => {
    expect(await ask({ answers: 'google', credential: 'gemini', body: asForm('gemini'), type: form })).toEqual({
      token_type: 'Bearer',
      access_token: placeholderFor('gemini', 'ya29.'),
      expires_in: 86_400,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    });
  });

  test('any other', async () => {
    expect(await ask({ answers: 'generic', credential: 'my-api', body: asForm('my-api'), type: form })).toEqual({
      token_type: 'Bearer',
      access_token: placeholderFor('my-api', 'access-'),
      refresh_token: placeholderFor('my-api', 'refresh-'),
      expires_in: 86_400,
    });
  });

  test('what was handed out is taken back the next time', async () => {
    const first = await ask({ body: asJson('anthropic') });
    const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: first.refresh_token });
    expect(await ask({ body })).toEqual(first);
  });
});

describe('questions about a token', () => {
  const about = { answers: 'google-tokeninfo', credential: 'gemini' } as const;
  const token = placeholderFor('gemini', 'ya29.');

  test.each([
    ['in Authorization', { headers: [['Authorization', `Bearer ${token}`]] as const, type: form }],
    ['in the query', { canonical: { method: 'GET', query: `access_token=${token}` } }],
    ['in a form', { body: `access_token=${token}`, type: form }],
  ])('%s are answered with its scope and end', async (_, asked: Partial<Asked>) => {
    expect(await ask({ ...about, ...asked })).toMatchObject({
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      expires_in: '86400',
      exp: String(nowMs / 1000 + 86_400),
    });
  });

  test('that is no placeholder, or is missing, or is one beside a placeholder, are not', async () => {
    const other = 'ya29.somebody-elses-token';
    for (const asked of [
      {},
      { headers: [['Authorization', `Bearer ${other}`]] as const },
      { headers: [['Authorization', `Bearer ${token}`]] as const, canonical: { query: `access_token=${other}` } },
    ]) {
      expect((await refusalOf({ ...about, ...asked })).code).toBe('token.login-outside');
    }
  });

  test('codex finds its own account, and no other, among the accounts', async () => {
    const asked = { answers: 'chatgpt-accounts', credential: 'chatgpt', canonical: { method: 'GET' } } as const;
    const { accounts } = (await ask(asked)) as { accounts: { id: string }[] };
    expect(accounts.map(({ id }) => id)).toEqual(['00000000-0000-4000-8000-000000000000']);
  });
});

describe('nothing else is exchanged', () => {
  test.each([
    ['a code of a login in a browser', { grant_type: 'authorization_code', code: 'c', code_verifier: 'v' }],
    ['a code of another device', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'd' }],
    ['another token', { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: 's' }],
    ['nothing that says what', { refresh_token: placeholderFor('anthropic') }],
    ['a real refresh token', { grant_type: 'refresh_token', refresh_token: 'sk-ant-ort01-real' }],
    ['the placeholder of another credential', { grant_type: 'refresh_token', refresh_token: placeholderFor('github') }],
    ['no token', { grant_type: 'refresh_token' }],
    ['a token that is not text', { grant_type: 'refresh_token', refresh_token: [placeholderFor('anthropic')] }],
  ])('%s', async (_, body: Readonly<Record<string, unknown>>) => {
    const texts = Object.entries(body).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    for (const asked of [{ body: JSON.stringify(body) }, { body: new URLSearchParams(texts).toString(), type: form }]) {
      const refusal = await refusalOf(asked);
      expect(refusal.code).toBe('token.login-outside');
      expect(refusal.hint).toContain('outside the sandbox');
      expect(refusal.message).not.toContain('real');
    }
  });

  test('what a sandbox calls its grant is cut short and harmless in the answer', async () => {
    const grant = `\u001b[2J\r\n${'x'.repeat(500)}`;
    const { message } = await refusalOf({ body: JSON.stringify({ grant_type: grant }) });
    expect(message).toMatch(/^[\x20-\x7e]{1,300}$/);
  });

  test('a sandbox that may not use the credential gets nothing', async () => {
    const refusal = await refusalOf({ body: asJson('anthropic'), granted: ['github'] });
    expect(refusal.code).toBe('token.login-outside');
    expect(refusal.rule).toBe('credentials.anthropic');
    expect(await ask({ body: asJson('anthropic'), granted: ['anthropic'] })).toHaveProperty('access_token');
  });

  test('another method is not for this endpoint', async () => {
    expect((await refusalOf({ canonical: { method: 'GET' } })).code).toBe('method.not-allowed');
    const accounts = { answers: 'chatgpt-accounts', credential: 'chatgpt' } as const;
    expect((await refusalOf(accounts)).code).toBe('method.not-allowed');
  });
});

describe('what cannot be read is not guessed at', () => {
  test.each([
    ['no JSON', '{"grant_type":', json],
    ['a list', '[]', json],
    ['a number', '7', json],
    ['a name twice', `${asForm('anthropic')}&refresh_token=another`, form],
    ['another type', asForm('anthropic'), 'text/plain'],
  ])('%s', async (_, body, type) => {
    expect((await refusalOf({ body, type })).code).toBe('token.malformed');
  });

  test('a compressed body', async () => {
    const headers = [['Content-Encoding', 'gzip']] as const;
    expect((await refusalOf({ body: asJson('anthropic'), headers })).code).toBe('token.malformed');
  });

  test('more than any client sends', async () => {
    const body = JSON.stringify({ ...renewal('anthropic'), padding: 'x'.repeat(64 * 1024) });
    expect((await refusalOf({ body })).code).toBe('limit.body-size');
  });

  test('a client that goes away leaves no answer behind', async () => {
    const exchange = exchangeWith(Buffer.alloc(0));
    const stuck = { ...exchange, asPayload: () => stuck, sendBody: () => {} } as unknown as Exchange;
    const flow = { ...authorized({}), exchange: stuck };
    const endpoint = { host: 'h', path: '/p', answers: 'claude' } as const;
    const pending = new SandboxTokenEndpoint().answer(flow, spec('anthropic', {}), endpoint);
    stuck.onAbandoned?.();
    await expect(pending).rejects.toThrow('went away');
  });
});
