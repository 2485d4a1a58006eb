import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../support/limits-ground.ts';
import { askHttp2, openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

// A minute's worth may come at once; what is over it comes with 100 kB a second. It is more than one read brings, which is
// passed on whole before the next one waits.
const perMinute = 6_000_000;
const bytes = perMinute + 250_000;

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround({ download_bytes_per_minute: perMinute, upload_bytes_per_minute: perMinute });
});

afterAll(() => ground.stop());

/** A lower bound cannot fail on a slow machine. */
async function timed(run: () => Promise<number>): Promise<{ bytes: number; slowed: boolean }> {
  const begun = performance.now();
  const done = await run();
  return { bytes: done, slowed: performance.now() - begun > 1_000 };
}

async function download(host: string, caPath: string): Promise<number> {
  const wire = new Wire(await openTls(await ground.sandbox(), `${host}:443`, { caPath }));
  wire.send(`GET /length/${bytes} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const { body } = await wire.answer();
  wire.socket.destroy();
  return body.length;
}

async function downloadByHttp2(): Promise<number> {
  const session = await openHttp2(await ground.sandbox(), hosts.open, { caPath: ground.gateway.caPath });
  const { body } = await askHttp2(session, { ':path': `/bytes/${bytes}` });
  session.close();
  return body.length;
}

async function upload(host: string, caPath: string, amount = bytes): Promise<number> {
  const socket: TLSSocket = await openTls(await ground.sandbox(), `${host}:443`, { caPath });
  const wire = new Wire(socket);
  wire.send(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${amount}\r\n\r\n`);
  socket.write(Buffer.alloc(amount, 'x'));
  const { head } = await wire.answer();
  socket.destroy();
  return head.startsWith('HTTP/1.1 200') ? amount : 0;
}

async function uploadByHttp2(amount: number): Promise<number> {
  const session = await openHttp2(await ground.sandbox(), hosts.open, { caPath: ground.gateway.caPath });
  const { headers } = await askHttp2(session, { ':method': 'POST', ':path': '/' }, Buffer.alloc(amount, 'x'));
  session.close();
  return Number(headers[':status']) === 200 ? amount : 0;
}

/** One message without an answer of its own, but for a word when all of it is there. */
async function uploadByWebSocket(amount: number): Promise<number> {
  const socket = await openTls(await ground.sandbox(), `${hosts.open}:443`, { caPath: ground.gateway.caPath });
  const wire = new Wire(socket);
  const handshake = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
  wire.send(
    `GET /all/${amount} HTTP/1.1\r\nHost: ${hosts.open}\r\n${handshake}\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`,
  );
  await wire.until('\r\n\r\n');
  const frame = Buffer.alloc(amount);
  frame.set([0x82, 0xff]);
  frame.writeBigUInt64BE(BigInt(amount - 14), 2);
  socket.write(frame);
  const said = await wire.until('all');
  socket.destroy();
  return said.endsWith('all') ? amount : 0;
}

test('over its bytes a stream slows down and arrives whole: HTTP/1.1, HTTP/2, a tunnel, a body that is sent', async () => {
  const all = await Promise.all([
    timed(() => download(hosts.open, ground.gateway.caPath)),
    timed(downloadByHttp2),
    timed(() => download(hosts.pinned, ground.ca.path)),
    timed(() => upload(hosts.open, ground.gateway.caPath)),
  ]);
  for (const one of all) expect(one).toEqual({ bytes, slowed: true });
});

test('a pause that is ours is nobody’s silence, though it is longer than both sides may be silent', async () => {
  // 8 kB a second: two seconds for every 16 KiB that a TLS record holds.
  const [minute, amount] = [480_000, 540_000];
  await ground.limit({ upload_bytes_per_minute: minute, idle_timeout_ms: 1_200, headers_timeout_ms: 1_200 });
  const all = await Promise.all([
    timed(() => upload(hosts.open, ground.gateway.caPath, amount)),
    timed(() => uploadByHttp2(amount)),
    timed(() => upload(hosts.pinned, ground.ca.path, amount)),
    timed(() => uploadByWebSocket(amount)),
  ]);
  for (const one of all) expect(one).toEqual({ bytes: amount, slowed: true });
});

test('a client that leaves while it is paused leaves nothing behind', async () => {
  await ground.limit({ download_bytes_per_minute: 60_000 });
  const door = await ground.sandbox();
  const wire = new Wire(await openTls(door, `${hosts.open}:443`, { caPath: ground.gateway.caPath }));
  wire.send(`GET /length/1000000 HTTP/1.1\r\nHost: ${hosts.open}\r\n\r\n`);
  await wire.until('\r\n\r\n');
  wire.socket.destroy();
  const record = await eventually(
    async () => (await ground.gateway.journal()).find(({ sandbox }) => sandbox === door.id),
    'it is written down',
  );
  expect(record).toMatchObject({ verdict: 'abandoned' });
});
