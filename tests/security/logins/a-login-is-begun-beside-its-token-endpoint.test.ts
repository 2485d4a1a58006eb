import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({
    names: ['gitlab.com', 'auth.example'],
    // No preset is in use: the rules are the user's own, the logins are configured.
    allow: [{ host: 'gitlab.com' }, { host: 'auth.example' }, { host: 'open.example' }],
    credentials: {
      gitlab: {},
      mine: {
        hosts: ['api.mine.example'],
        inject: { bearer: true },
        anonymous: true,
        source: {
          oauth: {
            token_url: 'https://auth.example/token',
            grant: 'client_credentials',
            client_id: 'ada',
            client_secret: { file: '/run/secrets/none' },
          },
        },
      },
    },
  });
});

afterAll(() => ground.stop());

async function codeOf(host: string, path: string, method = 'POST'): Promise<string | null> {
  ground.upstream.forget();
  const request = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  const answer = await sendTunnelled(ground.gateway, host, request);
  expect(answer.statuses).toHaveLength(1);
  expect(ground.upstream.requests).toHaveLength(answer.code === null ? 1 : 0);
  return answer.code;
}

describe('what stands beside the token endpoint of a login is not forwarded', () => {
  test.each([
    '/oauth/token.json',
    '/oauth/token.xml',
    '/oauth/token.json/',
    '/OAuth/Token.JSON',
    '/oauth/%74oken.json',
    '/oauth/token%2ejson',
    '/oauth%2Ftoken.json',
    '/oauth/token;x',
    '/oauth;x/token',
    '/oauth/revoke',
    '/oauth/authorize',
    '/oauth/authorize_device',
    '/oauth/token/info',
    '/oauth',
  ])('%s of gitlab.com', async (path) => {
    expect(await codeOf('gitlab.com', path)).toBe('token.login-outside');
    expect(await codeOf('gitlab.com', path, 'GET')).toBe('token.login-outside');
  });

  test.each(['/token.json', '/token/', '/token/x', '/TOKEN.xml'])('%s of an endpoint in no folder', async (path) => {
    expect(await codeOf('auth.example', path)).toMatch(/^token\./);
  });

  test('the rest of the host passes, and so does the same path of a host that has no login', async () => {
    expect(await codeOf('gitlab.com', '/oauthors/token')).toBeNull();
    expect(await codeOf('gitlab.com', '/api/v4/projects', 'GET')).toBeNull();
    expect(await codeOf('auth.example', '/tokens')).toBeNull();
    expect(await codeOf('open.example', '/oauth/token.json')).toBeNull();
  });
});
