import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({
    allow: [{ host: 'api.example', paths: ['/v1/**'] }, { host: 'open.example' }],
    policy: {
      blocked_api_patterns: { DELETE: ['^/repos/[^/]+/[^/]+$'], PUT: ['^/repos/[^/]+/[^/]+/pulls/\\d+/merge$'] },
    },
  });
});

afterAll(() => ground.stop());

async function codeOf(host: string, method: string, path: string): Promise<string | null> {
  ground.upstream.forget();
  const request = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const answer = await sendTunnelled(ground.gateway, host, request);
  expect(answer.statuses).toHaveLength(1);
  expect(ground.upstream.requests).toHaveLength(answer.code === null ? 1 : 0);
  if (answer.code !== null) expect(ground.upstream.bytes).toBe('');
  return answer.code;
}

describe('an allowed prefix is not left by spelling', () => {
  test.each([
    '/v1/../admin',
    '/v1/./admin',
    '/v1/%2e%2e/admin',
    '/v1/%2E%2e/admin',
    '/v1/.%2e/admin',
    '/v1/..%2fadmin',
    '/v1/%2e%2e%2fadmin',
    '/v1/%252e%252e/admin',
    '/v1/%25%32%65%25%32%65/admin',
    '/v1/..;/admin',
    '/v1/..;x=y/admin',
    '/v1/..\\admin',
    '/v1/..%5cadmin',
    '/v1/%5c..%5cadmin',
    '/v1//admin',
    '//v1/admin',
    '/v1/%2fadmin',
    '/v1/..%00/admin',
    '/v1/%00',
    '/v1/%0d%0aX:y',
    '/v1/%c0%ae%c0%ae/admin',
    '/v1/%c0%afadmin',
    '/v1/%e0%80%ae%e0%80%ae/admin',
    '/v1/%u002e%u002e/admin',
    '/v1/%ff',
    '/v1/%',
    '/v1/%2',
    '/v1/%zz',
  ])('%s cannot be read in one way', async (path) => {
    expect(await codeOf('api.example', 'GET', path)).toBe('malformed.path');
  });

  test.each([
    '/admin',
    '/V1/messages',
    '/v1',
    '/v1%2fadmin',
    '/v1%2Fadmin',
    '/%76%32/x',
    '/v1x/y',
    '/v1;/x',
    '/v1?/v1/x',
  ])('%s is outside', async (path) => {
    expect(await codeOf('api.example', 'GET', path)).toBe('path.not-allowed');
  });

  test.each(['/v1/messages', '/%761/messages', '/v1/a%20b', '/v1/x?p=../../admin', '/v1/a;b', '/v1/100%25'])(
    '%s is inside, and leaves as it came',
    async (path) => {
      expect(await codeOf('api.example', 'GET', path)).toBeNull();
      expect(ground.upstream.requests[0]!.head).toContain(`GET ${path} HTTP/1.1\r\n`);
      expect(ground.upstream.requests[0]!.head).toContain(plantedKey);
    },
  );
});

describe('a blocked operation is not reached by spelling', () => {
  test.each([
    ['DELETE', '/repos/o/r'],
    ['DELETE', '/repos/o/r/'],
    ['DELETE', '/repos/o/r?x'],
    ['DELETE', '/%72epos/o/r'],
    ['DELETE', '/repos/o%2fr'],
    ['DELETE', '/repos%2fo%2fr'],
    ['DELETE', '/repos/o/r%2f'],
    ['DELETE', '/repos/o/r;x=y'],
    ['DELETE', '/repos/o/r%3fx'],
    ['PUT', '/repos/o/r/pulls/1/merge'],
    ['PUT', '/repos/o/r/pulls/1/merge/'],
    ['PUT', '/repos/o/r/pulls/1/merge;x'],
    ['PUT', '/repos/o/r;a=b/pulls/1/merge'],
    ['PUT', '/repos/o/r/pulls/%31/%6derge'],
    ['PUT', '/repos/o/r/pulls/1%2Fmerge'],
  ])('%s %s', async (method, path) => {
    expect(await codeOf('open.example', method, path)).toBe('policy.blocked-api');
  });

  test.each([
    '/repos//o/r',
    '/repos/o/./r',
    '/repos/o/x/../r',
    '/x/%2e%2e/repos/o/r',
    '/repos/o/%252e',
    '/repos/o\\r',
    '/repos/o%5cr',
    '/repos/o/r%00',
  ])('DELETE %s cannot be read in one way', async (path) => {
    expect(await codeOf('open.example', 'DELETE', path)).toBe('malformed.path');
  });

  test('what is not blocked passes', async () => {
    expect(await codeOf('open.example', 'DELETE', '/repos/o/r/comments/1')).toBeNull();
    expect(await codeOf('open.example', 'GET', '/repos/o/r')).toBeNull();
  });
});
