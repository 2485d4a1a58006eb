// Tokens of registries of images: for what they are asked, of whom, and what of a challenge is believed.
import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { reveal, Secret } from '../../../../../src/path/secret.ts';
import {
  ImageTokens,
  type RegistryCall,
  readChallenge,
  scopeOf,
} from '../../../../../src/stages/inject/sources/image-tokens.ts';

const host = 'registry.corp.example';
const challenge = (realm: string): string[] => [`Bearer realm="${realm}",service="images"`];

describe('a token is for', () => {
  test.each([
    ['GET', '/v2/', ''],
    ['GET', '/v2/team/app/manifests/latest', 'repository:team/app:pull'],
    ['HEAD', '/v2/a/b/c/blobs/sha256:00', 'repository:a/b/c:pull'],
    ['POST', '/v2/team/app/blobs/uploads/', 'repository:team/app:pull,push'],
    ['DELETE', '/v2/team/app/manifests/1', 'repository:team/app:pull,push'],
    ['GET', '/v2/_catalog', 'registry:catalog:*'],
    ['GET', '/v1/x', ''],
  ])('%s %s: %s', (method, path, scope) => {
    expect(scopeOf(method, path)).toBe(scope);
  });
});

describe('the login goes', () => {
  test.each(['https://registry.corp.example/token', 'https://auth.corp.example/t', 'https://corp.example/jwt/auth'])(
    'to %s',
    (realm) => {
      expect(readChallenge(challenge(realm), host)?.realm.href).toBe(realm);
    },
  );

  test.each([
    'https://evil.example/token',
    'https://corp.example.evil.test/token',
    'https://evilcorp.example/token',
    'http://auth.corp.example/token',
    'https://auth.corp.example:8443/token',
    'https://me@auth.corp.example/token',
    'nowhere',
  ])('not to %s', (realm) => {
    expect(() => readChallenge(challenge(realm), host)).toThrow(/registry\.corp\.example/);
  });

  test('as it is, where nothing else is asked for', () => {
    expect(readChallenge([], host)).toBeNull();
    expect(readChallenge(['Basic realm="x"'], host)).toBeNull();
  });
});

test('a token is asked for once, kept until it ends, and noted', async () => {
  const calls: RegistryCall[] = [];
  const noted: string[] = [];
  const ports = {
    call: (call: RegistryCall) => {
      calls.push(call);
      if (call.outgoing.target === '/v2/') {
        const headers = HeaderList.from([['WWW-Authenticate', challenge('https://auth.corp.example/t')[0]!]]);
        return Promise.resolve({ status: 401, headers, body: Buffer.from('') });
      }
      const body = Buffer.from(JSON.stringify({ token: `token-${calls.length}`, expires_in: 60 }));
      return Promise.resolve({ status: 200, headers: new HeaderList(), body });
    },
  };
  const tokens = new ImageTokens('docker-x', host, ports, (secret) => noted.push(reveal(secret)));
  const pair = new Secret('docker-x', 'cGFpcjpwYWly');
  const read = { method: 'GET', path: '/v2/a/b/manifests/1' };
  const [one, other] = await Promise.all([tokens.tokenFor(pair, read), tokens.tokenFor(pair, read)]);
  expect([reveal(one), reveal(other), reveal(await tokens.tokenFor(pair, read))]).toEqual(Array(3).fill(noted[0]));
  expect(one.login).toBe(true);
  expect(calls.filter(({ host: asked }) => asked === 'auth.corp.example')).toHaveLength(1);
  const write = await tokens.tokenFor(pair, { method: 'PUT', path: '/v2/a/b/manifests/1' });
  expect(reveal(write)).not.toBe(reveal(one));
  expect(calls.at(-1)!.outgoing.target).toBe('/t?service=images&scope=repository%3Aa%2Fb%3Apull%2Cpush');
});
