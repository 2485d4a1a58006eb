import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { sendPlain, sendTunnelled } from '../../support/raw-client.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: AttackGround;

afterEach(() => ground.stop());

/** Asks as another sandbox would, through its own socket. */
async function askAsAnother(): Promise<string> {
  const door = await ground.anotherSandbox();
  const wire = new Wire(await openTls(door, 'api.example:443', { caPath: ground.gateway.caPath }));
  wire.send(ground.goodRequest);
  const { head } = await wire.answer();
  wire.socket.destroy();
  return head.split('\r\n', 1)[0]!;
}

describe('a limit stops the one who is over it, tells when to come back, and nobody else notices', () => {
  test('connections at a time', async () => {
    ground = await openAttackGround({ limits: { connections: 3 } });
    const held: Socket[] = [];
    for (let i = 0; i < 3; i++) {
      const socket = connect(ground.gateway.port, ground.gateway.host);
      await new Promise((resolve) => socket.once('connect', resolve));
      held.push(socket);
    }
    const over = await sendPlain(ground.gateway, '');
    expect([over.statuses, over.code, over.closed]).toEqual([[429], 'limit.connections', true]);
    expect(over.text).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(await askAsAnother()).toBe('HTTP/1.1 200 OK');
    held.pop()!.destroy();
    await eventually(
      async () => (await sendPlain(ground.gateway, 'x\r\n')).code === 'malformed.syntax',
      'one may enter',
    );
    for (const socket of held) socket.destroy();
    await eventually(
      async () => (await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest)).statuses[0] === 200,
      'all is well again',
    );
  });

  test('requests per minute', async () => {
    ground = await openAttackGround({ limits: { requests_per_minute: 4 } });
    const ask = () => sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    for (let i = 0; i < 4; i++) expect((await ask()).statuses).toEqual([200]);
    ground.upstream.forget();
    const over = await ask();
    expect([over.statuses, over.code]).toEqual([[429], 'limit.rate']);
    expect(over.text).toMatch(/\r\nRetry-After: (?:[1-9]|1[0-5])\r\n/);
    expect(ground.upstream.bytes).toBe('');
    expect(await askAsAnother()).toBe('HTTP/1.1 200 OK');
  });

  test('a refused request counts as well, so that probing is not free', async () => {
    ground = await openAttackGround({ limits: { requests_per_minute: 2 } });
    const probe = 'GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n';
    const codes: (string | null)[] = [];
    for (let i = 0; i < 3; i++) codes.push((await sendTunnelled(ground.gateway, 'elsewhere.example', probe)).code);
    expect(codes).toEqual(['domain.not-allowed', 'domain.not-allowed', 'limit.rate']);
  });

  test('requests at a time', async () => {
    ground = await openAttackGround({ limits: { concurrent_requests: 2 }, answer: () => null });
    const ask = () => sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    const { caPath } = ground.gateway;
    const held = await Promise.all([1, 2].map(() => openTls(ground.gateway, 'api.example:443', { caPath })));
    for (const socket of held) socket.write(ground.goodRequest);
    await eventually(() => ground.upstream.requests.length === 2, 'two are open');
    const over = await ask();
    expect([over.statuses, over.code]).toEqual([[429], 'limit.concurrent']);
    expect(over.text).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(ground.upstream.requests).toHaveLength(2);
    // Clients that give up give their places back.
    for (const socket of held) socket.destroy();
    ground.upstream.answerWith(() => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await eventually(async () => (await ask()).statuses[0] === 200, 'there is room again');
  });
});
