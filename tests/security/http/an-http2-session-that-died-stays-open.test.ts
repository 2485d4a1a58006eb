// A client that breaks the framing of HTTP/2 while a request is under way, is told goodbye, and stays. The connection must
// not stay for ever, with its place among those that its sandbox may have.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { dataFrame, endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { openTls } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({ limits: { idle_timeout_ms: 2_000, client_head_timeout_ms: 4_000 } });
});

afterAll(() => ground.stop());

async function openConnections(): Promise<number> {
  const { body } = await ground.gateway.admin('GET', '/internal/metrics');
  return Number(/^sallyport_open_connections (\d+)/m.exec(body)?.[1]);
}

test('every such connection is closed in the end', async () => {
  const whole = headersFrame(1, requestFields('api.example', 'GET', '/'), endStream);
  const begun = headersFrame(1, requestFields('api.example', 'POST', '/'), 0);
  const attacks = [
    [whole, dataFrame(1, 'behind the end', endStream)],
    [begun, dataFrame(0, 'on no stream')],
    // Padding that is longer than its frame.
    [begun, Buffer.from([0, 0, 3, 0, 9, 0, 0, 0, 1, 200, 1, 2])],
    [dataFrame(1, 'before any head')],
  ];
  const said = await Promise.all(
    attacks.map(async (frames) => {
      const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
      const peer = new FramePeer(await openTls(ground.gateway, 'api.example:443', options), false);
      peer.send(...frames);
      await eventually(() => peer.closed || peer.frames.some(({ type }) => type === 7), 'the goodbye');
      peer.socket.destroy();
      return peer.frames.length;
    }),
  );
  expect(said.every((frames) => frames > 0)).toBe(true);
  await eventually(async () => (await openConnections()) === 0, 'no connection is left');
});
