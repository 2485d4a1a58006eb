// Slow-read: a client that asks for much and takes nothing of it. What waits for it is bounded, it is ended after
// idle_timeout_ms, and neither it nor the journal puts that on the far side.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { eventually } from '../../support/eventually.ts';
import { answeredDuring, openNeighbour } from '../../support/neighbour.ts';
import { endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls, openTunnel } from '../../support/tunnel-client.ts';

const host = 'far.example';
const pinned = 'pinned.example';
/** What the kernels of two connections hold (some 10 MiB on loopback), and a little of ours. */
const mostBytes = 24 * 1024 * 1024;
const piece = Buffer.alloc(64 * 1024, 'x');
const farSides: { readonly head: string; readonly socket: Socket }[] = [];
let upstream: RawUpstream;
let plain: RawUpstream;
let gateway: TestGateway;

/** Writes as long as it is taken. */
function pour(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

beforeAll(async () => {
  const ca = makeTestCa();
  const upgraded = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire, socket }) => {
      const head = await wire.until('\r\n\r\n');
      if (head.startsWith('GET /fine')) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
        return;
      }
      farSides.push({ head, socket });
      if (head.startsWith('GET /socket')) {
        socket.write(upgraded);
        // One binary frame of 2^40 bytes.
        socket.write(Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0]));
      } else if (head.startsWith('GET /small')) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmall');
        return;
      } else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n');
      pour(socket);
    },
  });
  plain = await startRawUpstream({
    tls: null,
    serve: ({ socket }) => {
      farSides.push({ head: 'GET /tunnel', socket });
      pour(socket);
    },
  });
  gateway = await startTestGateway({
    allow: [{ host }, { host: pinned, tunnel: true }],
    upstream: { resolve: { [host]: upstream.address, [pinned]: plain.address }, ca: ca.path },
    limits: { idle_timeout_ms: 1_500 },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await plain.close();
});

const open = (alpn = 'http/1.1'): Promise<Socket> =>
  openTls(gateway, `${host}:443`, { caPath: gateway.caPath, alpn: [alpn] });

async function ask(path: string, more = ''): Promise<Socket> {
  const socket = await open();
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
  return socket;
}

async function askHttp2(path: string, windowBytes: number, reads: boolean): Promise<Socket> {
  const socket = await open('h2');
  const peer = new FramePeer(socket, false, windowBytes);
  peer.send(headersFrame(1, requestFields(host, 'GET', path), endStream));
  if (!reads) socket.pause();
  return socket;
}

async function askTunnel(): Promise<Socket> {
  const socket = await openTunnel(gateway, `${pinned}:443`);
  socket.pause();
  socket.write(clientHelloBytes({ names: [pinned] }));
  return socket;
}

test('is ended, whatever it speaks, and the far side has sent no more than the kernels hold', async () => {
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n';
  const clients = await Promise.all([
    ask('/plain'),
    ask('/socket', upgrade),
    askHttp2('/no-window', 0, true),
    askHttp2('/deaf', 2 ** 31 - 1, false),
    askTunnel(),
  ]);
  await eventually(() => farSides.length === clients.length, 'all are served');
  await eventually(() => farSides.every(({ socket }) => socket.destroyed), 'all far sides are left');
  for (const { head, socket } of farSides) expect(socket.bytesWritten, head).toBeLessThan(mostBytes);
  const records = await eventually(async () => {
    const all = await gateway.journal();
    return all.length === clients.length ? all : null;
  }, 'each has one record');
  expect(records.map(({ code, rule }) => [code, rule])).toEqual(
    Array(clients.length).fill(['client.timeout', 'limits.idle_timeout_ms']),
  );
  for (const client of clients) client.destroy();
});

test('a stream whose small answer is not taken is closed too, and the connection with it', async () => {
  const socket = await open('h2');
  const peer = new FramePeer(socket, false, 0);
  for (const stream of [1, 3, 5]) peer.send(headersFrame(stream, requestFields(host, 'GET', '/small'), endStream));
  await eventually(() => [1, 3, 5].every((stream) => peer.outcome(stream).answered), 'the heads of the answers come');
  await eventually(() => [1, 3, 5].every((stream) => peer.outcome(stream).reset !== null), 'the streams are reset');
  await eventually(() => peer.closed, 'the connection is closed');
});

test('one that takes some of it all the time is not ended', async () => {
  const socket = await ask('/slowly');
  let isEnded = false;
  socket.on('close', () => {
    isEnded = true;
  });
  let taken = 0;
  for (let n = 0; n < 12; n++) {
    // A little less than the far side could send: it always waits.
    socket.resume();
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    taken += chunk.length;
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  expect([isEnded, taken > 0]).toEqual([false, true]);
  socket.destroy();
});

test('and while many of them wait, another sandbox is answered', async () => {
  const neighbour = await openNeighbour(gateway, host);
  const waiting: Socket[] = [];
  // Each is ended after its time: there are always some.
  const flood = async (): Promise<void> => {
    waiting.push(...(await Promise.all([ask('/plain'), askHttp2('/deaf', 2 ** 31 - 1, false)])));
  };
  for (let n = 0; n < 4; n++) await flood();
  expect(await answeredDuring(flood, neighbour)).toBe(200);
  for (const socket of waiting) socket.destroy();
});
