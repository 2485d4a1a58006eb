// Decompression bombs over HTTP: answers that are searched for credentials, and request bodies that are searched for
// placeholders, are unfolded in passing. However much is folded in, little of it is here at any time.
import type { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answeredDuring, type Neighbour, openNeighbour } from '../../support/neighbour.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';

const host = 'api.example';
const mebibyte = 1024 * 1024;
/** For what unfolds to 512 MiB. */
const mostGrowth = 200 * mebibyte;
const nothing = Buffer.alloc(mebibyte);
let upstream: RawUpstream;
let gateway: TestGateway;
let neighbour: Neighbour;
let uploaded = 0;

const times = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array(count).fill(bytes));

/** 512 MiB of nothing, in half a mebibyte or less. */
const bombs: Readonly<Record<string, Buffer>> = {
  gzip: times(512, gzipSync(nothing)),
  deflate: Buffer.concat([
    deflateSync(nothing, { finishFlush: constants.Z_SYNC_FLUSH }),
    times(511, deflateRawSync(nothing, { finishFlush: constants.Z_SYNC_FLUSH })),
  ]),
  br: brotliCompressSync(Buffer.alloc(64 * mebibyte), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire, socket }) => {
      for (;;) {
        const head = await wire.until('\r\n\r\n');
        if (head.startsWith('GET /fine')) {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
          continue;
        }
        if (head.startsWith('POST')) {
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
          uploaded += (await wire.bytes(length)).length;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          continue;
        }
        const coding = /GET \/(\w+)/.exec(head)![1]!;
        const bomb = bombs[coding]!;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${bomb.length}\r\n\r\n`);
        socket.write(bomb);
      }
    },
  });
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', 'the-real-key');
  neighbour = await openNeighbour(gateway, host);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function ask(path: string, more: string): Promise<Socket> {
  const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
  socket.write(`GET /${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
  return socket;
}

test('an answer waits for a client that does not read it, folded', async () => {
  const before = process.memoryUsage().rss;
  // Those that ask for a coding get it made anew; those that do not get it as it came, when it was searched.
  const clients = await Promise.all(
    Object.keys(bombs).flatMap((coding) => [ask(coding, `Accept-Encoding: ${coding}\r\n`), ask(coding, '')]),
  );
  let most = 0;
  for (let n = 0; n < 8; n++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    most = Math.max(most, process.memoryUsage().rss - before);
  }
  expect(most).toBeLessThan(mostGrowth);
  for (const client of clients) client.destroy();
  await eventually(async () => (await gateway.journal()).length === clients.length, 'each has its record');
});

test('a request body goes on as it came, and only so much of it is unfolded', async () => {
  const before = process.memoryUsage().rss;
  for (const [coding, bomb] of Object.entries(bombs)) {
    const head = `POST /up HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Encoding: ${coding}\r\nContent-Length: ${bomb.length}\r\n\r\n`;
    const answer = await sendTunnelled(gateway, host, Buffer.concat([Buffer.from(head), bomb]));
    expect([coding, answer.statuses]).toEqual([coding, [200]]);
  }
  expect(uploaded).toBe(Object.values(bombs).reduce((all, { length }) => all + length, 0));
  expect(process.memoryUsage().rss - before).toBeLessThan(mostGrowth);
});

test('and while bodies unfold, of answers and of requests, another sandbox is answered', async () => {
  const bomb = bombs.gzip!;
  const head = `POST /up HTTP/1.1\r\nHost: ${host}\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
  const open: Socket[] = [];
  const flood = async (): Promise<void> => {
    const [reading, sending] = await Promise.all([
      ask('gzip', 'Accept-Encoding: gzip\r\n'),
      openTls(gateway, `${host}:443`, { caPath: gateway.caPath }),
    ]);
    reading.resume();
    sending.write(head);
    sending.write(bomb);
    open.push(reading, sending);
  };
  expect(await answeredDuring(flood, neighbour)).toBe(200);
  for (const socket of open) socket.destroy();
});
