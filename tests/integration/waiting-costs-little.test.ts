import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApprovalGround, openApprovalGround } from '../support/approval-ground.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

let ground: ApprovalGround;

beforeAll(async () => {
  ground = await openApprovalGround({ limits: { request_timeout_ms: 3_000 } });
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  await ground.watch();
});

afterAll(() => ground.stop());

/** Of this process: the gateway and its clients together. */
function bytesUsed(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const openAsker = async (): Promise<Wire> =>
  new Wire(await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath }));

describe('a request that waits', () => {
  test('costs none of the time that a request may take', async () => {
    const held = ground.curl('https://ask.example/slow');
    const [question] = await ground.waiting();
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(JSON.parse((await held).stdout)).toMatchObject({ url: '/slow' });
  });

  test('does not pass when its registration has ended before the answer', async () => {
    await ground.gateway.admin('DELETE', '/internal/containers/asker');
    const endMs = Date.now() + 6_000;
    const ends = { container_ip: '127.0.0.1', id: 'short', expires_at: new Date(endMs).toISOString() };
    await ground.gateway.register(ends);
    const held = ground.curl('https://ask.example/late');
    const [question] = await ground.waiting();
    await new Promise((resolve) => setTimeout(resolve, endMs + 50 - Date.now()));
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    await held;
    expect(ground.upstream.seen.filter(({ url }) => url === '/late')).toEqual([]);
    await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  });

  test('costs little more memory than its head', async () => {
    const wires = await Promise.all(Array.from({ length: 50 }, openAsker));
    const before = bytesUsed();
    for (const [i, wire] of wires.entries()) {
      wire.send(`GET /${i} HTTP/1.1\r\nHost: ask.example\r\nX-Long: ${'x'.repeat(8_000)}\r\n\r\n`);
    }
    const questions = await ground.waiting(50);
    // Some 30 KB where this was written, the client's part with it.
    expect((bytesUsed() - before) / wires.length).toBeLessThan(120_000);
    for (const { id } of questions) await ground.answer(id, { answer: 'deny' });
    for (const wire of wires) wire.socket.destroy();
  });
});
