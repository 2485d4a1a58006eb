import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendPlain, sendTunnelled } from '../../support/raw-client.ts';
import { settle } from '../../support/settle.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const parses = vi.hoisted(() => ({ count: 0 }));

vi.mock('../../../src/protocols/http1/request-head.ts', async (original) => {
  const real = await original<typeof import('../../../src/protocols/http1/request-head.ts')>();
  return {
    parseRequestHead: (...args: Parameters<typeof real.parseRequestHead>) => {
      parses.count++;
      return real.parseRequestHead(...args);
    },
  };
});

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({ limits: { request_body_bytes: 100_000 } });
});

afterAll(() => ground.stop());

const now = performance.now.bind(performance);
let skippedMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => now() + skippedMs);

/** The clock of the whole gateway jumps, never back; its own sweep notices within half a second. */
function letPass(ms: number): void {
  skippedMs += ms;
}

const atTheDoor = async (): Promise<Wire> => new Wire(connect(ground.gateway.port, ground.gateway.host));
const insideTls = async (): Promise<Wire> =>
  new Wire(await openTls(ground.gateway, 'api.example:443', { caPath: ground.gateway.caPath }));
const doors = [
  ['at the door', atTheDoor],
  ['inside TLS', insideTls],
] as const;

describe('a head has half a minute, however often another byte of it comes', () => {
  test('a head that does not end is answered and closed', async () => {
    ground.upstream.forget();
    for (const [where, open] of doors) {
      const wire = await open();
      wire.send('GET /slow HTTP/1.1\r\nHost: api.exam');
      await settle(30);
      letPass(20_000);
      await new Promise((resolve) => setTimeout(resolve, 600));
      wire.send('p');
      expect(wire.ended, where).toBe('open');
      letPass(11_000);
      const rest = await wire.rest();
      expect(rest, where).toContain('HTTP/1.1 400');
      expect(rest, where).toContain('client.timeout');
    }
    expect(ground.upstream.bytes).toBe('');
  });

  test('a connection that says nothing is not kept for ever', async () => {
    const wire = await insideTls();
    // Both sides have ended the handshake.
    await settle(30);
    letPass(31_000);
    expect(await wire.rest()).toBe('');
  });
});

describe('what is too large is told so, and not read', () => {
  const get = `GET /big HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n`;

  test.each<[string, string, string]>([
    ['a field of 64 KiB', `${get}X: ${'y'.repeat(66_000)}\r\n\r\n`, 'limit.head-size'],
    ['a target of 64 KiB', `GET /${'y'.repeat(66_000)} HTTP/1.1\r\nHost: api.example\r\n\r\n`, 'limit.head-size'],
    ['a head that never ends', `${get}X: ${'y'.repeat(300_000)}`, 'limit.head-size'],
    ['a method without end', 'A'.repeat(70_000), 'limit.head-size'],
    ['257 fields', `${get}${'X: y\r\n'.repeat(257)}\r\n`, 'limit.head-size'],
    [
      'a body that says so',
      `POST /big HTTP/1.1\r\nHost: api.example\r\nContent-Length: 100001\r\n\r\n`,
      'limit.body-size',
    ],
    [
      'a body in chunks',
      `POST /big HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: chunked\r\n\r\n1d4c0\r\n${'x'.repeat(120_000)}\r\n0\r\n\r\n`,
      'limit.body-size',
    ],
  ])('%s', async (_what, bytes, code) => {
    ground.upstream.forget();
    const answer = await sendTunnelled(ground.gateway, 'api.example', bytes);
    expect([answer.statuses, answer.code, answer.closed]).toEqual([[413], code, true]);
    expect(ground.upstream.requests).toEqual([]);
  });

  test('just below the limits it passes', async () => {
    const fields = `${get}${'X: y\r\n'.repeat(200)}X: ${'y'.repeat(60_000)}\r\n\r\n`;
    expect((await sendTunnelled(ground.gateway, 'api.example', fields)).statuses).toEqual([200]);
    const body = `POST /big HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`;
    expect((await sendTunnelled(ground.gateway, 'api.example', body)).statuses).toEqual([200]);
  });
});

describe('a head that drips in costs about its length', () => {
  test('30,000 bytes, one at a time', async () => {
    const request = `GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nConnection: close\r\nX: ${'y'.repeat(30_000)}\r\n\r\n`;
    parses.count = 0;
    const answer = await sendPlain(ground.gateway, request, { pieceBytes: 1, waitMs: 20_000 });
    expect([answer.statuses, answer.code]).toEqual([[403], 'domain.plain-http']);
    // Once per kilobyte and once per line, not once per byte.
    expect(parses.count).toBeLessThan(60);
  });
});
