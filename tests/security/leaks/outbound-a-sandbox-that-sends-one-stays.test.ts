// Must not happen: where the policy says so, a sandbox that sent a placeholder or a real key elsewhere goes on working.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { askHttp2, openHttp2, openTls } from '../../support/tunnel-client.ts';
import {
  misplaced,
  type OutboundGround,
  openOutboundGround,
  outbound,
  placeholder,
  realKey,
  withLength,
} from './outbound-ground.ts';

let ground: OutboundGround;

beforeEach(async () => {
  ground = await openOutboundGround({ misplaced: 'revoke' });
});

afterEach(() => ground.stop());

/** A connection of the sandbox that waits for nothing. */
async function idleConnection(): Promise<{ readonly socket: Socket; readonly closed: Promise<void> }> {
  const socket = await openTls(ground.gateway, 'open.example:443', { caPath: ground.gateway.caPath });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.write('GET /slow HTTP/1.1\r\nHost: open.example\r\n\r\n');
  await vi.waitFor(() => expect(ground.upstream.bytes).toContain('/slow'), { timeout: 20_000 });
  return { socket, closed };
}

async function expectGone(): Promise<void> {
  await vi.waitFor(
    async () => {
      const { body } = await ground.gateway.admin('GET', '/internal/containers');
      expect(body).not.toContain('127.0.0.1');
    },
    { timeout: 20_000 },
  );
  const after = await ground.send('open.example', 'GET / HTTP/1.1');
  expect(after.code).toBe('sandbox.unknown');
  expect(ground.upstream.bytes).toBe('');
}

describe('a sandbox that sends what does not belong is unregistered', () => {
  test.each([
    ['a placeholder in the head', 'open.example', `GET /?k=${placeholder} HTTP/1.1`, '', misplaced],
    ['a placeholder in the body', 'open.example', 'POST / HTTP/1.1', withLength(`k=${placeholder}`), misplaced],
    ['a real key to its own host', 'api.example', `GET / HTTP/1.1\r\nX-Api-Key: ${realKey}`, '', outbound],
  ])('%s: it is told why, and everything else of it ends', async (_what, host, head, rest, code) => {
    ground.upstream.answerWith(({ head: asked }) =>
      asked.startsWith('GET /slow') ? null : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    const other = await idleConnection();
    const answer = await ground.send(host, head, rest);
    expect(answer.code).toBe(code);
    expect(answer.text).toContain('A sandbox that sends it is unregistered.');
    await other.closed;
    await expectGone();
  });

  test('over HTTP/2 it is told why, too', async () => {
    const session = await openHttp2(ground.gateway, 'open.example', { caPath: ground.gateway.caPath });
    session.on('error', () => {});
    const answer = await askHttp2(session, { ':path': '/', 'x-note': placeholder });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: misplaced });
    await expectGone();
    session.destroy();
  });

  test('what an agent only says to its model does not end it', async () => {
    const talk = await ground.send('model.example', 'POST / HTTP/1.1', withLength(`k=${placeholder}`));
    expect(talk.statuses).toContain(200);
    const after = await ground.send('open.example', 'GET / HTTP/1.1');
    expect(after.statuses).toContain(200);
  });
});
