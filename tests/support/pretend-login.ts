// The token endpoint of a pretend provider, which hands out what is real here: it takes the refresh token that is in force,
// once, and gives a new pair. All real tokens have one mark in common, so that a search for it finds any of them.
import { randomBytes } from 'node:crypto';
import { startFakeUpstream } from './fake-upstream.ts';
import type { PretendPlace } from './pretend-agent-run.ts';
import type { TestCa } from './test-ca.ts';

/** How the tokens of a provider look. */
export type LoginShape = 'claude' | 'chatgpt' | 'google';

export interface RealTokens {
  readonly access: string;
  readonly refresh: string;
}

export interface PretendLogin extends PretendPlace {
  /** In every real token, and nowhere else. */
  readonly mark: string;
  /** The account of the real login. */
  readonly account: string;
  /** What the user's file has: an access token that has ended, and a refresh token that is good. */
  readonly first: RealTokens;
  /** What is in force now. */
  current(): RealTokens;
  readonly renewals: () => number;
  /** What no request should have been like. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

const hosts: Readonly<Record<LoginShape, string>> = {
  claude: 'platform.claude.com',
  chatgpt: 'auth.openai.com',
  google: 'oauth2.googleapis.com',
};

const paths: Readonly<Record<LoginShape, string>> = {
  claude: '/v1/oauth/token',
  chatgpt: '/oauth/token',
  google: '/token',
};

export async function startPretendLogin(ca: TestCa, shape: LoginShape): Promise<PretendLogin> {
  const mark = `real${randomBytes(8).toString('hex')}`;
  const account = `acc0${randomBytes(8).toString('hex')}`;
  const faults: string[] = [];
  const first = mint(shape, mark, account, 0);
  let current = first;
  let renewals = 0;
  const host = hosts[shape];
  const upstream = await startFakeUpstream(ca, [host], (request, response, body) => {
    const text = body.toString();
    if (`${request.url} ${JSON.stringify(request.headers)} ${text}`.includes('sallyport-placeholder'))
      faults.push(`a placeholder reached ${host}${request.url}`);
    const asked = text.startsWith('{')
      ? (JSON.parse(text) as Record<string, unknown>)
      : Object.fromEntries(new URLSearchParams(text));
    response.setHeader('content-type', 'application/json');
    const good = asked.grant_type === 'refresh_token' && asked.refresh_token === current.refresh;
    if (request.method !== 'POST' || request.url !== paths[shape] || !good) {
      faults.push(`${request.method} ${host}${request.url} asked for what is not to be had`);
      response.statusCode = 400;
      response.end(JSON.stringify({ error: 'invalid_grant' }));
      return;
    }
    renewals++;
    current = mint(shape, mark, account, renewals);
    response.end(JSON.stringify(answerOf(shape, current)));
  });
  return {
    host,
    address: upstream.address,
    mark,
    account,
    first,
    current: () => current,
    renewals: () => renewals,
    faults,
    close: upstream.close,
  };
}

/** The first one has ended. */
function mint(shape: LoginShape, mark: string, account: string, count: number): RealTokens {
  const serial = `${mark}-${String(count).padStart(4, '0')}`;
  if (shape === 'claude') return { access: `sk-ant-oat01-${serial}-access`, refresh: `sk-ant-ort01-${serial}-refresh` };
  if (shape === 'google') return { access: `ya29.${serial}-access`, refresh: `1//0${serial}-refresh` };
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    exp: count === 0 ? seconds - 3600 : seconds + 3600,
    'https://api.openai.com/auth': { chatgpt_account_id: account, chatgpt_plan_type: 'pro' },
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return { access: `${part({ alg: 'RS256' })}.${part(claims)}.${serial}-access`, refresh: `rt_${serial}-refresh` };
}

function answerOf(shape: LoginShape, { access, refresh }: RealTokens): object {
  const common = { access_token: access, token_type: 'Bearer', expires_in: 3600 };
  if (shape === 'google') return { ...common, refresh_token: refresh, scope: 'pretend' };
  return { ...common, refresh_token: refresh, ...(shape === 'chatgpt' ? { id_token: access } : { scope: 'pretend' }) };
}
