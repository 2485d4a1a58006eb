// A request whose body is begun and never ended: the client is told, and the far side is left by it too, whoever waits.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startFarGateway } from '../../support/far-gateway.ts';
import { dataFrame, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import type { TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;
const farSides: Socket[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: ({ socket }) => {
      farSides.push(socket);
      socket.resume();
    },
  });
  gateway = await startFarGateway(ca, { [host]: upstream }, { limits: { idle_timeout_ms: 1_500 } });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const open = (alpn: string): Promise<Socket> =>
  openTls(gateway, `${host}:443`, { caPath: gateway.caPath, alpn: [alpn] });

test('over HTTP/1.1, with a length and in chunks, and over HTTP/2', async () => {
  const post = (framing: string): string => `POST /slow HTTP/1.1\r\nHost: ${host}\r\n${framing}\r\n\r\n`;
  const plain = new Wire(await open('http/1.1'));
  plain.send(`${post('Content-Length: 1000')}the beginning`);
  const chunked = new Wire(await open('http/1.1'));
  chunked.send(`${post('Transfer-Encoding: chunked')}5\r\nthe b`);
  const h2 = new FramePeer(await open('h2'), false);
  h2.send(headersFrame(1, requestFields(host, 'POST', '/slow'), 0), dataFrame(1, 'the beginning'));
  for (const wire of [plain, chunked]) {
    const answer = await wire.rest();
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('limits.idle_timeout_ms');
  }
  await eventually(() => h2.outcome(1).answered, 'the stream is answered');
  await eventually(() => farSides.length === 3 && farSides.every(({ destroyed }) => destroyed), 'the far side is left');
  h2.socket.destroy();
  const records = (await gateway.journal()).filter(({ path }) => path === '/slow');
  expect(records.map(({ code, status }) => [code, status])).toEqual(Array(3).fill(['client.timeout', 400]));
});

test('one that keeps coming is not ended, however slowly', async () => {
  const socket = await open('http/1.1');
  socket.write(`POST /steady HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\n`);
  let ended = false;
  socket.resume();
  socket.on('close', () => {
    ended = true;
  });
  for (let n = 0; n < 7; n++) {
    socket.write('x');
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(ended).toBe(false);
  socket.destroy();
  await once(socket, 'close');
});
