import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({
    names: ['api.openai.com', 'api.anthropic.com', 'openrouter.ai', 'api.githubcopilot.com', 'api.mistral.ai'],
    allow: [
      { preset: 'openai' },
      { host: 'api.anthropic.com' },
      { host: 'openrouter.ai' },
      { host: '*.githubcopilot.com' },
      { host: 'api.mistral.ai', effects: ['mint-credential'] },
    ],
  });
  await ground.gateway.setSecret('openai', 'a-real-key-of-openai');
});

afterAll(() => ground.stop());

async function codeOf(host: string, path: string, method = 'POST', fields = ''): Promise<string | null> {
  ground.upstream.forget();
  const request = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}Content-Length: 0\r\nConnection: close\r\n\r\n`;
  const answer = await sendTunnelled(ground.gateway, host, request);
  expect(ground.upstream.requests).toHaveLength(answer.code === null ? 1 : 0);
  return answer.code;
}

describe('no rule lets a sandbox mint a credential or start an agent elsewhere', () => {
  test.each([
    ['api.openai.com', '/v1/realtime/client_secrets'],
    ['api.openai.com', '/v1/realtime/client_secrets/'],
    ['api.openai.com', '/v1/Realtime/Client_Secrets'],
    ['api.openai.com', '/v1/realtime/client%5fsecrets'],
    ['api.openai.com', '/v1/realtime%2Fclient_secrets'],
    ['api.openai.com', '/v1/realtime/client_secrets.json'],
    ['api.openai.com', '/v1/realtime/client_secrets;x'],
    ['api.openai.com', '/v1/realtime;a/client_secrets/'],
    ['api.openai.com', '/v1/organization/admin_api_keys'],
    ['api.anthropic.com', '/v1/sessions'],
    ['api.anthropic.com', '/v1/sessions/s1/events'],
    ['api.anthropic.com', '/v1/organizations/api_keys'],
    ['openrouter.ai', '/api/v1/keys'],
    ['api.githubcopilot.com', '/agents/swe/jobs'],
    ['api.githubcopilot.com', '/mcp'],
  ])('%s%s', async (host, path) => {
    expect(await codeOf(host, path)).toBe('provider.effect');
    expect(await codeOf(host, path, 'GET')).toBe('provider.effect');
  });

  test('nor over a WebSocket', async () => {
    const upgrade =
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const request = `GET /v1/sessions/s1 HTTP/1.1\r\nHost: api.anthropic.com\r\nConnection: Upgrade\r\n${upgrade}\r\n`;
    ground.upstream.forget();
    expect((await sendTunnelled(ground.gateway, 'api.anthropic.com', request)).code).toBe('provider.effect');
    expect(ground.upstream.requests).toHaveLength(0);
  });

  test('inference passes, and so does an effect that the policy names', async () => {
    expect(await codeOf('api.openai.com', '/v1/responses')).toBeNull();
    expect(await codeOf('api.anthropic.com', '/v1/messages')).toBeNull();
    expect(await codeOf('openrouter.ai', '/api/v1/key', 'GET')).toBeNull();
    expect(await codeOf('api.githubcopilot.com', '/chat/completions')).toBeNull();
    expect(await codeOf('api.mistral.ai', '/v1/client/sessions')).toBeNull();
  });
});
