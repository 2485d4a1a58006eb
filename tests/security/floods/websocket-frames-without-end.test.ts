// Floods over a WebSocket that was let through, from either side: frames of a few bytes, pings, fragments of one message,
// lengths that nothing can have, and messages that unfold to a thousand times their size. None of them may gather here, or
// cost more than it is worth.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { constants, deflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answeredDuring, type Neighbour, openNeighbour } from '../../support/neighbour.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';

const host = 'api.example';
const handshake = `GET /live HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n`;
const upgraded =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const mebibyte = 1024 * 1024;
let upstream: RawUpstream;
let gateway: TestGateway;
let neighbour: Neighbour;
let farSide: { readonly socket: Socket; readonly bytes: () => number } | null = null;
/** The longest array that the first was taken from the slow way: with tens of thousands that takes seconds. */
let longestShifted = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire, socket }) => {
      const head = await wire.until('\r\n\r\n');
      expect(head).toContain('the-real-key');
      if (head.startsWith('GET /fine')) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
        return;
      }
      wire.release();
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      socket.resume();
      socket.write(upgraded);
      farSide = { socket, bytes: () => bytes };
    },
  });
  gateway = await startTestGateway({
    allow: [{ host }],
    // What carries a credential is searched, both ways.
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

const shift = Array.prototype.shift;

beforeEach(() => {
  longestShifted = 0;
  // By hand: what watches calls in vitest keeps each of them.
  Reflect.set(Array.prototype, 'shift', function (this: unknown[]): unknown {
    longestShifted = Math.max(longestShifted, this.length);
    return Reflect.apply(shift, this, []);
  });
});

afterEach(() => {
  Reflect.set(Array.prototype, 'shift', shift);
});

interface Conversation {
  readonly client: Socket;
  readonly far: Socket;
  /** What has come to the client behind the handshake. */
  toClient(): number;
  /** What has come to the far side behind the handshake. */
  toFarSide(): number;
}

async function converse(): Promise<Conversation> {
  farSide = null;
  const client = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
  client.on('error', () => {});
  let toClient = 0;
  client.write(handshake);
  const [head] = (await once(client, 'data')) as [Buffer];
  toClient += head.length - head.indexOf('\r\n\r\n') - 4;
  client.on('data', (chunk: Buffer) => {
    toClient += chunk.length;
  });
  const { socket: far, bytes: toFarSide } = await eventually(() => farSide, 'it is let through');
  return { client, far, toClient: () => toClient, toFarSide };
}

/** A frame as a client writes it, masked with zeros. */
function masked(first: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([first, 0x80 | content.length, 0, 0, 0, 0]), content]);
}

const folded = (text: Buffer): Buffer => deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
/** So many mebibytes of nothing, in about as many kilobytes. */
const bombOf = (mebibytes: number): Buffer =>
  times(mebibytes, deflateRawSync(Buffer.alloc(mebibyte), { finishFlush: constants.Z_SYNC_FLUSH })).subarray(0, -4);
const times = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array(count).fill(bytes));

function longFrame(first: number, content: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(content.length), 2);
  return Buffer.concat([head, content]);
}

/** Ends by itself: the connection is closed for it, both ways, and the record says why. */
async function isRefused({ client, far }: Conversation, who: string): Promise<void> {
  await eventually(() => client.destroyed && far.destroyed, 'both are closed');
  const record = await eventually(
    async () => (await gateway.journal()).find(({ code, reason }) => code === 'limit.frames' && isOf(reason, who)),
    'it is in the journal',
  );
  expect(record.rule).toBe('built-in: WebSocket without floods');
  expect(record.hint).toContain('fewer, larger frames');
}

const isOf = (reason: unknown, who: string): boolean => String(reason).startsWith(`${who} keeps sending`);

async function arrives(count: () => number, bytes: number): Promise<void> {
  await eventually(() => count() >= bytes, `${bytes} bytes arrive`);
}

describe('from the far side', () => {
  test('thousands of empty frames behind a compressed message, in one piece', async () => {
    const { client, far, toClient } = await converse();
    const pings = 8_000;
    far.write(
      Buffer.concat([longFrame(0xc1, folded(Buffer.alloc(mebibyte, 'm'))), times(pings, Buffer.from([0x89, 0]))]),
    );
    await arrives(toClient, mebibyte + 2 * pings);
    expect(longestShifted).toBeLessThan(1_000);
    client.destroy();
  });

  test('a compressed message in fragments of one byte', async () => {
    const { client, far, toClient } = await converse();
    const [first, ...rest] = folded(Buffer.from(Array.from({ length: 1_500 }, (_, n) => (n * 7919) & 0xff)));
    const fragments = rest.map((byte) => Buffer.from([0x00, 1, byte]));
    far.write(Buffer.concat([Buffer.from([0x42, 1, first!]), ...fragments, Buffer.from([0x80, 0])]));
    await arrives(toClient, 1_500);
    expect(longestShifted).toBeLessThan(1_000);
    client.destroy();
  });

  test('a message that unfolds a thousandfold goes at the pace of the client, and waits for it', async () => {
    const { client, far, toClient } = await converse();
    client.pause();
    const before = process.memoryUsage().rss;
    // Far more than all that could wait on the way.
    far.write(longFrame(0xc2, bombOf(512)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * mebibyte);
    client.resume();
    await arrives(toClient, 16 * mebibyte);
    client.destroy();
  });

  test('a length that nothing can have ends it', async () => {
    const { client, far } = await converse();
    far.write(Buffer.from([0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]));
    await eventually(() => client.destroyed && far.destroyed, 'both are closed');
  });
});

describe('from the sandbox', () => {
  test('thousands of compressed messages of a byte or two', async () => {
    const { client, toFarSide } = await converse();
    const message = masked(0xc1, folded(Buffer.from('m')));
    const all = times(2_000, message);
    client.write(all);
    await arrives(toFarSide, all.length);
    expect(longestShifted).toBeLessThan(1_000);
    client.destroy();
  });

  test('thousands of pings at once', async () => {
    const { client, toFarSide } = await converse();
    const all = times(8_000, masked(0x89, Buffer.alloc(0)));
    client.write(all);
    await arrives(toFarSide, all.length);
    expect(longestShifted).toBeLessThan(1_000);
    client.destroy();
  });

  test('a message that unfolds a thousandfold goes on as it came', async () => {
    const { client, toFarSide } = await converse();
    const content = bombOf(256);
    const head = Buffer.alloc(14);
    head[0] = 0xc2;
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(content.length), 2);
    const before = process.memoryUsage().rss;
    client.write(Buffer.concat([head, content]));
    await arrives(toFarSide, head.length + content.length);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * mebibyte);
    client.destroy();
  });

  test('a length that nothing can have ends it', async () => {
    const { client, far } = await converse();
    client.write(Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]));
    await eventually(() => client.destroyed && far.destroyed, 'both are closed');
  });
});

const empty = Buffer.alloc(0);
const one = folded(Buffer.from('m'));
const kinds = [
  ['pings', 0x89, empty],
  ['empty messages', 0x81, empty],
  ['messages of one byte', 0x82, Buffer.from('m')],
  ['compressed messages of one byte', 0xc1, one],
] as const;

describe('more of them than any use has', () => {
  test.each(kinds)('%s of the sandbox end its connection, and nobody waits for it', async (_what, first, content) => {
    const frames = times(4_000, masked(first, content));
    let last = await converse();
    const flood = async (): Promise<void> => {
      if (last.client.destroyed) last = await converse();
      last.client.write(frames);
      await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await answeredDuring(flood, neighbour)).toBe(200);
    for (let n = 0; n < 100 && !last.client.destroyed; n++) await flood();
    await isRefused(last, 'the client');
  });

  test.each(kinds)('%s of the far side end its connection, and nobody waits for it', async (_what, first, content) => {
    const frames = times(4_000, Buffer.concat([Buffer.from([first, content.length]), content]));
    let last = await converse();
    const flood = async (): Promise<void> => {
      if (last.client.destroyed) last = await converse();
      last.far.write(frames);
      await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await answeredDuring(flood, neighbour)).toBe(200);
    for (let n = 0; n < 100 && !last.client.destroyed; n++) await flood();
    await isRefused(last, host);
  });
});

test('frames on many connections, none of which has too many by itself', async () => {
  const frames = times(4_000, masked(0xc1, one));
  const conversations: Conversation[] = [];
  for (let n = 0; n < 12; n++) conversations.push(await converse());
  for (const { client } of conversations) client.write(frames);
  const isDone = ({ client, toFarSide }: Conversation): boolean => client.destroyed || toFarSide() >= frames.length;
  await eventually(() => conversations.every(isDone), 'each is over or has arrived');
  // All of them are worth some twenty seconds of what a sandbox has.
  expect(conversations.filter(({ client }) => client.destroyed).length).toBeGreaterThan(0);
  for (const { client } of conversations) client.destroy();
  expect(await neighbour()).toBe(200);
});
