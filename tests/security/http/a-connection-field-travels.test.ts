import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { plainAnswer } from '../../support/recording-upstream.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

beforeEach(() => {
  ground.upstream.forget();
  ground.upstream.answerWith(plainAnswer);
});

/** The head as the far side got it, for a request with these fields. */
async function sentWith(host: string, ...fields: string[]): Promise<string> {
  const request = `POST /x HTTP/1.1\r\nHost: ${host}\r\n${fields.map((field) => `${field}\r\n`).join('')}Content-Length: 2\r\n\r\nhi`;
  const wire = new Wire(await openTls(ground.gateway, `${host}:443`, { caPath: ground.gateway.caPath }));
  wire.send(request);
  expect((await wire.answer()).head).toContain('HTTP/1.1 200');
  wire.socket.destroy();
  expect(ground.upstream.requests).toHaveLength(1);
  expect(ground.upstream.requests[0]!.body).toBe('hi');
  return ground.upstream.requests[0]!.head.toLowerCase();
}

describe('what belongs to the connection with the sandbox does not reach the upstream', () => {
  test('fields of the hop, of proxies, and whatever Connection names', async () => {
    const head = await sentWith(
      'open.example',
      'Connection: keep-alive, X-Named, x-other',
      'Connection: X-Third',
      'Keep-Alive: timeout=5',
      'Proxy-Authorization: Basic c2VjcmV0',
      'Proxy-Connection: keep-alive',
      'Proxy-Authenticate: x',
      'TE: trailers',
      'X-Named: 1',
      'X-Other: 2',
      'x-third: 3',
      'X-Forwarded-For: 10.0.0.1',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Anything: x',
      'X_Forwarded_For: 10.0.0.1',
      'Forwarded: for=10.0.0.1',
      'X-Real-IP: 10.0.0.1',
      'Via: 1.1 sandbox',
      'HTTP2-Settings: AAMAAABk',
      'Accept: */*',
    );
    expect(head).toBe(
      'post /x http/1.1\r\nhost: open.example\r\naccept: */*\r\ncontent-length: 2\r\naccept-encoding: identity\r\n\r\n',
    );
  });

  test('the proof that was given with CONNECT stays at the door', async () => {
    const request = `GET / HTTP/1.1\r\nHost: open.example\r\nProxy-Authorization: Basic aW5zaWRl\r\nConnection: close\r\n\r\n`;
    const fields = ['Proxy-Authorization: Basic b3V0c2lkZQ=='];
    const answer = await sendTunnelled(ground.gateway, 'open.example', request, { fields });
    expect(answer.statuses).toEqual([200]);
    expect(ground.upstream.bytes).not.toMatch(/proxy-authorization|b3V0c2lkZQ|aW5zaWRl/i);
  });

  test.each(['authorization', 'x-api-key', 'X-Api-Key, close', 'host', 'content-length', 'transfer-encoding'])(
    'Connection: %s takes nothing away that must be there, and keeps nothing',
    async (named) => {
      const head = await sentWith(
        'api.example',
        `Connection: ${named}`,
        'X-Api-Key: placeholder',
        'Authorization: Bearer placeholder',
      );
      expect(head).toContain(`x-api-key: ${plantedKey}\r\n`);
      expect(head).toContain('host: api.example\r\n');
      expect(head).toContain('content-length: 2\r\n');
      expect(head).not.toMatch(/x-api-key: placeholder|connection:/);
    },
  );

  test('the sandbox cannot make the gateway believe in a loop, nor hide one', async () => {
    expect(await sentWith('open.example', 'Via: 1.1 some-proxy')).not.toContain('via:');
  });
});

describe('what belongs to the connection with the upstream does not reach the sandbox', () => {
  async function answeredWith(head: string, body: string): Promise<string> {
    ground.upstream.answerWith(() => `HTTP/1.1 200 OK\r\n${head}\r\n${body}`);
    const request = 'GET / HTTP/1.1\r\nHost: open.example\r\nConnection: close\r\n\r\n';
    return (await sendTunnelled(ground.gateway, 'open.example', request)).text;
  }

  test('fields of the hop, and whatever Connection names', async () => {
    const text = await answeredWith(
      'Connection: X-Named, keep-alive\r\nKeep-Alive: timeout=5\r\nX-Named: 1\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nSet-Cookie: a=1\r\nContent-Length: 2\r\n',
      'ok',
    );
    expect(text).toBe('HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
  });

  test('Connection: content-length does not take the length from a body that is sent', async () => {
    const text = await answeredWith('Connection: content-length\r\nContent-Length: 2\r\n', 'ok');
    expect(text).toContain('Content-Length: 2\r\n');
    expect(text.endsWith('\r\n\r\nok')).toBe(true);
  });

  test('Connection: transfer-encoding does not take the framing from chunks', async () => {
    const chunks = '2\r\nok\r\n0\r\n\r\n';
    const text = await answeredWith('Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n', chunks);
    expect(text.match(/transfer-encoding: chunked/gi)).toHaveLength(1);
    expect(text.endsWith(chunks)).toBe(true);
  });
});
