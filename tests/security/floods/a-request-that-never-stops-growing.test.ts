// What is well formed byte by byte and never comes to an end: empty lines, trailers, chunk extensions, a body over HTTP/2 that
// does not say how long it is, a tunnel that was refused and stays. Each is ended, in words where
// there are any, and the far side never sees a whole request.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { eventually } from '../../support/eventually.ts';
import { sendPlain, sendTunnelled } from '../../support/raw-client.ts';
import { dataFrame, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { openTls, openTunnel } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({
    allow: [{ host: 'api.example' }, { host: 'pinned.example', tunnel: true }],
    limits: { request_body_bytes: 50_000 },
  });
});

afterAll(() => ground.stop());

const chunked = 'POST /grow HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: chunked\r\n\r\n';

test.each<[string, string, number, string]>([
  ['trailers', `${chunked}0\r\n${'X: y\r\n'.repeat(5_000)}`, 413, 'limit.head-size'],
  ['one trailer', `${chunked}0\r\nX: ${'y'.repeat(30_000)}`, 400, 'malformed.framing'],
  ['the extension of a chunk', `${chunked}1;x=${'y'.repeat(30_000)}`, 400, 'malformed.framing'],
  ['extensions of chunks', `${chunked}${`1;x=${'y'.repeat(200)}\r\nx\r\n`.repeat(200)}`, 400, 'malformed.framing'],
  ['chunks of one byte', `${chunked}${'1\r\nx\r\n'.repeat(20_000)}`, 413, 'limit.body-size'],
  ['empty lines before it', '\r\n'.repeat(20_000), 400, 'malformed.syntax'],
])('%s without end', async (_what, bytes, status, code) => {
  ground.upstream.forget();
  const answer = await sendTunnelled(ground.gateway, 'api.example', bytes);
  expect([answer.statuses, answer.code, answer.closed]).toEqual([[status], code, true]);
  expect(ground.upstream.requests).toEqual([]);
});

test('empty lines at the door', async () => {
  const answer = await sendPlain(ground.gateway, '\r\n'.repeat(20_000));
  expect([answer.statuses, answer.code, answer.closed]).toEqual([[400], 'malformed.syntax', true]);
});

test('a body over HTTP/2 that does not say how long it is', async () => {
  ground.upstream.forget();
  const socket = await openTls(ground.gateway, 'api.example:443', { caPath: ground.gateway.caPath, alpn: ['h2'] });
  const peer = new FramePeer(socket, false);
  peer.send(headersFrame(1, requestFields('api.example', 'POST', '/grow'), 0));
  for (let n = 0; n < 6; n++) peer.send(dataFrame(1, 'x'.repeat(10_000)));
  await eventually(() => peer.outcome(1).answered, 'it is answered');
  const records = await eventually(async () => {
    const found = (await ground.gateway.journal()).filter(({ protocol }) => protocol === 'h2');
    return found.length > 0 ? found : null;
  }, 'it is in the journal');
  expect(records.map(({ status, code }) => [status, code])).toEqual([[413, 'limit.body-size']]);
  expect(ground.upstream.requests).toEqual([]);
  socket.destroy();
});

test('a tunnel that was refused does not keep its place by staying', async () => {
  const socket = await openTunnel(ground.gateway, 'pinned.example:443');
  // Half-open: its own end never says that it is over.
  socket.allowHalfOpen = true;
  socket.write(clientHelloBytes({ names: ['other.example'] }));
  socket.resume();
  await eventually(() => socket.readableEnded, 'it is refused');
  await eventually(async () => {
    const metrics = (await ground.gateway.admin('GET', '/internal/metrics')).body;
    return /^sallyport_open_connections(?:\{[^}]*\})? 0$/m.test(metrics);
  }, 'its place is free');
  socket.destroy();
});
