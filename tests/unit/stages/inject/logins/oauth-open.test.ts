import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OAuthSpec, PlainSource } from '../../../../../src/policy/compiled.ts';
import { fixedSource } from '../../../../../src/stages/inject/logins/oauth-fixed-source.ts';
import { type OpenPlain, openOAuth, openServiceAccount } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import { FileSource } from '../../../../../src/stages/inject/sources/file-source.ts';
import { cleanValue } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;

beforeEach(() => {
  ground = new OAuthGround();
});
afterEach(() => ground.end());

/** What the sources inside have: by the name of a variable, or in a file. */
const values = new Map([
  ['SECRET', 'the secret:of+the client'],
  ['REFRESH', 'refresh-from-env'],
]);
const open: OpenPlain = (name, spec) => {
  if (spec.kind === 'file') return new FileSource(name, spec.path, () => ground.nowMs);
  if (spec.kind !== 'environment') throw new Error('not in this test');
  return fixedSource(name, cleanValue(values.get(spec.variable) ?? '', 'it'));
};
const variable = (name: string): PlainSource => ({ kind: 'environment', variable: name });

const spec: OAuthSpec = {
  kind: 'oauth',
  grant: 'client_credentials',
  tokenUrl: { host: 'login.example', port: 443, target: '/oauth/token?tenant=1' },
  clientId: 'the-client',
  clientSecret: variable('SECRET'),
  clientAuth: 'basic',
  refreshToken: null,
  scope: null,
  parameters: [],
  body: 'form',
};

describe('client credentials', () => {
  test('in the Authorization field, as RFC 6749 wants them encoded', async () => {
    ground.rotates = false;
    const source = openOAuth('my-api', spec, open, ground.deps);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(source.current()).not.toBeInstanceOf(Promise);
    // Not `memory`, which is what waits for `secret set`.
    expect(source.origin).toBe('its token endpoint');
    expect(ground.asked).toEqual([
      {
        host: 'login.example',
        target: '/oauth/token?tenant=1',
        contentType: 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from('the%2Dclient:the+secret%3Aof%2Bthe+client').toString('base64')}`,
        origin: null,
        members: { grant_type: 'client_credentials' },
      },
    ]);
  });

  test('in the body, with scope and more members, at another port, as JSON', async () => {
    const source = openOAuth(
      'my-api',
      {
        ...spec,
        clientAuth: 'post',
        body: 'json',
        scope: 'a b',
        parameters: [['audience', 'https://api.example']],
        tokenUrl: { host: 'login.example', port: 8443, target: '/t' },
      },
      open,
      ground.deps,
    );
    // A refresh token that comes along is of no use here.
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(ground.asked).toEqual([
      {
        host: 'login.example',
        target: '/t',
        contentType: 'application/json',
        authorization: null,
        origin: { scheme: 'https', host: 'login.example', port: 8443 },
        members: {
          grant_type: 'client_credentials',
          client_id: 'the-client',
          client_secret: 'the secret:of+the client',
          scope: 'a b',
          audience: 'https://api.example',
        },
      },
    ]);
    ground.pass(3600);
    ground.good = null;
    expect(await tokenIn(source.current())).toBe('access-token-2');
    expect(ground.asked[1]?.members).not.toHaveProperty('refresh_token');
  });

  test('are renewed when an upstream rejects the token, and before it ends', async () => {
    ground.rotates = false;
    const source = openOAuth('my-api', spec, open, ground.deps);
    const first = await source.current();
    ground.pass(60);
    if (first !== null) expect(await tokenIn(source.renewed(first))).toBe('access-token-2');
    ground.pass(3200);
    expect(await tokenIn(source.current())).toBe('access-token-2');
    await source.close();
    expect(await tokenIn(source.current())).toBe('access-token-3');
  });

  test('are asked for once, however many wait', async () => {
    const source = openOAuth('my-api', spec, open, ground.deps);
    const tokens = await Promise.all(Array.from({ length: 10 }, () => tokenIn(source.current())));
    expect(new Set(tokens)).toEqual(new Set(['access-token-1']));
    expect(ground.asked).toHaveLength(1);
  });

  test('that are refused may be mended: they are tried again', async () => {
    ground.answer = () => ({ status: 401, body: { error: 'invalid_client' } });
    const source = openOAuth('my-api', spec, open, ground.deps);
    await expect(tokenIn(source.current())).rejects.toThrow('login.example gave no token: invalid_client, status 401');
    ground.answer = null;
    ground.pass(3);
    expect(await tokenIn(source.current())).toBe('access-token-1');
  });
});

describe('a refresh token of the configuration', () => {
  const refreshing = { ...spec, grant: 'refresh_token', clientAuth: 'none', clientSecret: null } as const;

  test('in a file: the one that comes for it is written there, with the mode it had', async () => {
    const path = ground.put('refresh', 'r0\n', 0o400);
    ground.good = 'r0';
    const source = openOAuth('my-api', { ...refreshing, refreshToken: { kind: 'file', path } }, open, ground.deps);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(ground.asked[0]?.members).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'r0',
      client_id: 'the-client',
    });
    expect(readFileSync(path, 'utf8')).toBe('refresh-token-1\n');
    expect(statSync(path).mode & 0o777).toBe(0o400);
    ground.pass(3600);
    expect(await tokenIn(source.current())).toBe('access-token-2');
    expect(ground.asked[1]?.members.refresh_token).toBe('refresh-token-1');
    expect([...ground.noted].sort()).toEqual([
      'access-token-1',
      'access-token-2',
      'r0',
      'refresh-token-1',
      'refresh-token-2',
    ]);
  });

  test('in a file: what the operator puts there afterwards counts, and a dead one is left alone until then', async () => {
    const path = ground.put('refresh', 'dead');
    ground.good = 'other';
    const source = openOAuth('my-api', { ...refreshing, refreshToken: { kind: 'file', path } }, open, ground.deps);
    const words = `login.example does not take the login in ${path} any more (invalid_grant, status 400): put a new refresh token there`;
    for (let i = 0; i < 3; i++) {
      await expect(tokenIn(source.current())).rejects.toThrow(words);
      ground.pass(600);
    }
    expect(ground.asked).toHaveLength(1);
    writeFileSync(path, 'other');
    expect(await tokenIn(source.current())).toBe('access-token-1');
  });

  test('in a file: also while the access token that an upstream rejects has no end of its own', async () => {
    const path = ground.put('refresh', 'r0');
    ground.good = 'r0';
    ground.lifeSeconds = null;
    const source = openOAuth('my-api', { ...refreshing, refreshToken: { kind: 'file', path } }, open, ground.deps);
    const secret = await source.current();
    if (secret === null) throw new Error('there is no token');
    ground.pass(60);
    ground.good = 'other';
    for (let i = 0; i < 3; i++) {
      expect(await source.renewed(secret)).toBeNull();
      ground.pass(6);
    }
    expect(ground.asked).toHaveLength(2);
    writeFileSync(path, 'other');
    expect(await tokenIn(source.renewed(secret))).toBe('access-token-2');
  });

  test('in a file that others may read: it is not used', async () => {
    const path = ground.put('refresh', 'r0', 0o644);
    const source = openOAuth('my-api', { ...refreshing, refreshToken: { kind: 'file', path } }, open, ground.deps);
    await expect(tokenIn(source.current())).rejects.toThrow('is open to other users');
    expect(ground.asked).toEqual([]);
  });

  test('elsewhere: the one that comes for it lives in memory, and the operator is told once', async () => {
    ground.good = 'refresh-from-env';
    const source = openOAuth('my-api', { ...refreshing, refreshToken: variable('REFRESH') }, open, ground.deps);
    expect(await tokenIn(source.current())).toBe('access-token-1');
    ground.pass(3600);
    expect(await tokenIn(source.current())).toBe('access-token-2');
    expect(ground.asked.map(({ members }) => members.refresh_token)).toEqual(['refresh-from-env', 'refresh-token-1']);
    const told = ground.reports.filter(({ what }) => what.includes('in the memory of the gateway alone'));
    expect(told).toHaveLength(1);
  });
});

describe('a Google service account', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const account = {
    type: 'service_account',
    project_id: 'p',
    private_key_id: 'key-1',
    private_key: pem,
    client_email: 'robot@p.iam.gserviceaccount.com',
    token_uri: 'https://oauth2.googleapis.com/token',
  };
  const scopes = ['https://www.googleapis.com/auth/cloud-platform', 'other'];

  function openAccount(content: object | string, subject: string | null = null) {
    const key: PlainSource = { kind: 'file', path: ground.put('account.json', content) };
    return openServiceAccount('vertex', { kind: 'google-service-account', key, scopes, subject }, open, ground.deps);
  }

  test('proves itself with a signed statement, and gets a token for it', async () => {
    ground.rotates = false;
    const source = openAccount(account, 'ada@example.com');
    expect(await tokenIn(source.current())).toBe('access-token-1');
    const { members, ...rest } = ground.asked[0]!;
    expect(rest).toMatchObject({ host: 'oauth2.googleapis.com', target: '/token', authorization: null });
    expect(Object.keys(members).sort()).toEqual(['assertion', 'grant_type']);
    expect(members.grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload } = await jwtVerify(members.assertion!, publicKey, { currentDate: new Date(ground.nowMs) });
    const iat = ground.nowMs / 1000;
    expect(payload).toEqual({
      iss: account.client_email,
      sub: 'ada@example.com',
      aud: account.token_uri,
      scope: scopes.join(' '),
      iat,
      exp: iat + 3600,
    });
    expect(decodeProtectedHeader(members.assertion!)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    expect([...ground.noted]).toEqual(expect.arrayContaining([pem, 'access-token-1']));
  });

  test.each<[string, object | string]>([
    ['is not JSON', '-----BEGIN nothing'],
    ['is of another type', { ...account, type: 'authorized_user' }],
    ['has no client_email', { ...account, client_email: undefined }],
    ["has a token_uri that is not Google's", { ...account, token_uri: 'https://oauth2.googleapis.com.example/token' }],
    ["has a token_uri that is not Google's", { ...account, token_uri: 'https://googleapis.com.evil.example/token' }],
    ["has a token_uri that is not Google's", { ...account, token_uri: 'http://oauth2.googleapis.com/token' }],
    ["has a token_uri that is not Google's", { ...account, token_uri: 'https://x@oauth2.googleapis.com:8443/token' }],
    ['has a private_key that cannot be read', { ...account, private_key: pem.replace('A', '!') }],
    [
      'has a private_key of 1024 bits',
      {
        ...account,
        private_key: generateKeyPairSync('rsa', { modulusLength: 1024 })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString(),
      },
    ],
  ])('a key file that %s is not used, and nobody is asked', async (words, content) => {
    await expect(tokenIn(openAccount(content).current())).rejects.toThrow(`the key of the service account ${words}`);
    expect(ground.asked).toEqual([]);
  });

  test('a key file that is not there is told by its path', async () => {
    const path = join(ground.home, 'none.json');
    const missing = { kind: 'google-service-account', key: { kind: 'file', path }, scopes, subject: null } as const;
    const source = openServiceAccount('vertex', missing, open, ground.deps);
    await expect(tokenIn(source.current())).rejects.toThrow(`${path} does not exist`);
  });
});
