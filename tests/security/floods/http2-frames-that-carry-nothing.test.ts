// Floods of HTTP/2 frames: what carries no request, or unfolds to far more than it is, ends its own connection and no other.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startStreamingUpstream } from '../../support/fake-upstream.ts';
import {
  dataFrame,
  endStream,
  FramePeer,
  frame,
  goawayCode,
  headersFrame,
  hpack,
  requestFields,
  resetFrame,
} from '../../support/raw-http2.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openHttp2, openTls } from '../../support/tunnel-client.ts';

const host = 'far.example';
const keyed = 'keyed.example';
const readOnly = 'read.example';
const enhanceYourCalm = 11;
const [headers, priority, settings, ping, goaway, windowUpdate, continuation] = [1, 2, 4, 6, 7, 8, 9];
const folder = mkdtempSync(join(tmpdir(), 'sallyport-gate-'));
const gate = join(folder, 'open');
let upstream: Omit<FakeUpstream, 'seen'>;
let gateway: TestGateway;
let underway = 0;
let mostUnderway = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startStreamingUpstream(ca, [host, keyed], (request, response) => {
    if (request.url === '/fine') {
      response.end('fine');
      return;
    }
    underway++;
    mostUnderway = Math.max(mostUnderway, underway);
    response.on('close', () => underway--);
  });
  gateway = await startTestGateway({
    allow: [{ host }, { host: keyed }, { host: readOnly, methods: ['GET'] }],
    // Not to be had: until then nobody reads the body of a request that needs it.
    credentials: {
      slow: {
        hosts: [keyed],
        inject: { header: 'x-api-key' },
        source: { command: ['sh', '-c', `until [ -e ${gate} ]; do sleep 0.05; done; echo key`] },
      },
    },
    upstream: { resolve: { [host]: upstream.address, [keyed]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
});

afterAll(async () => {
  writeFileSync(gate, '');
  await gateway.stop();
  await upstream.close();
  rmSync(folder, { recursive: true });
});

async function peerTo(name: string): Promise<FramePeer> {
  return new FramePeer(await openTls(gateway, `${name}:443`, { caPath: gateway.caPath, alpn: ['h2'] }), false);
}

const post = (name: string, stream = 1): Buffer => headersFrame(stream, requestFields(name, 'POST', '/held'), 0);
const get = (stream: number, path = '/held'): Buffer =>
  headersFrame(stream, requestFields(host, 'GET', path), endStream);

/** Sends it again and again until the other side ends it, `mostBytes` at most. */
async function flood(peer: FramePeer, bytes: Buffer, mostBytes = 4 * 1024 * 1024): Promise<void> {
  const some = Buffer.concat(Array(Math.ceil(16_384 / bytes.length)).fill(bytes));
  for (let sent = 0; sent < mostBytes && !peer.closed; sent += some.length) {
    peer.send(some);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await eventually(() => peer.closed, 'the connection is closed');
}

function wordOf(value: number): Buffer {
  const word = Buffer.alloc(4);
  word.writeUInt32BE(value);
  return word;
}

/** One field of 4000 bytes, fourteen times: written out once, and then by its number in the table. */
function unfolding(isFirst: boolean): Buffer {
  const large = Buffer.concat([
    Buffer.from([0x40, 1]),
    Buffer.from('x'),
    Buffer.from([0x7f, 0xa1, 0x1e]),
    Buffer.alloc(4000, 'y'),
  ]);
  const fields = hpack(requestFields(host, 'GET', '/fine'));
  return Buffer.concat([fields, ...(isFirst ? [large] : []), Buffer.alloc(14, 0xbe)]);
}

describe('frames that no request needs', () => {
  test.each<[string, boolean, Buffer]>([
    ['pings', true, frame(ping!, 0, 0, Buffer.alloc(8))],
    ['window updates', true, frame(windowUpdate!, 0, 0, wordOf(1))],
    ['priorities', false, frame(priority!, 0, 3, Buffer.concat([wordOf(0), Buffer.from([1])]))],
    ['frames of no kind', false, frame(0xfa, 0, 0, Buffer.alloc(8))],
  ])('%s without end: the connection is closed, and that is in the journal', async (_what, isOursToEnd, bytes) => {
    const isFlood = ({ code }: Record<string, unknown>): boolean => code === 'limit.http2-flood';
    const before = (await gateway.journal()).filter(isFlood).length;
    const peer = await peerTo(host);
    peer.send(get(1, '/fine'));
    await flood(peer, bytes);
    expect(goawayCode(peer)).toBe(enhanceYourCalm);
    const written = (await gateway.journal()).filter(isFlood).length - before;
    // A newer nghttp2 (that of Node 24) is sooner with some of them, and does not say what it was.
    expect(written).toBeLessThanOrEqual(1);
    if (isOursToEnd) expect(written).toBe(1);
  });

  // What a request brings along is no waste. It must not pay for more than has come.
  test.each<[string, string, (stream: number) => Buffer]>([
    [
      'requests whose heads are small on the wire and large here',
      host,
      (stream) => frame(headers!, 4 | endStream, stream, unfolding(stream === 1)),
    ],
    [
      'requests that are taken back before any of their body comes',
      keyed,
      (stream) => Buffer.concat([post(keyed, stream), resetFrame(stream, 8)]),
    ],
  ])('pings, paid for by %s', async (_what, name, request) => {
    const peer = await peerTo(name);
    for (let n = 0; n < 200 && !peer.closed; n++) {
      peer.send(request(2 * n + 1));
      if (n % 20 < 19) continue;
      if (name === host) await eventually(() => peer.closed || peer.outcome(2 * n + 1).answered, 'they are answered');
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(peer.closed).toBe(false);
    await flood(peer, frame(ping!, 0, 0, Buffer.alloc(8)), 8 * 1024 * 1024);
    expect(goawayCode(peer)).toBe(enhanceYourCalm);
  });

  test('settings, which must all be acknowledged', async () => {
    await flood(await peerTo(host), frame(settings!, 0, 0, Buffer.alloc(0)));
  });

  test('empty frames of a body', async () => {
    const peer = await peerTo(host);
    peer.send(post(host));
    await flood(peer, dataFrame(1, ''));
  });

  test('a body in pieces of one byte, read as they come', async () => {
    const peer = await peerTo(host);
    peer.send(post(host));
    await flood(peer, dataFrame(1, 'x'));
    expect(goawayCode(peer)).toBe(enhanceYourCalm);
  });

  test('a head without end, in frames that continue it', async () => {
    const peer = await peerTo(host);
    peer.send(frame(headers!, 0, 1, hpack(requestFields(host, 'GET', '/held'))));
    await flood(peer, frame(continuation!, 0, 1, hpack([['x', 'y'.repeat(100)]])));
  });

  test('one goodbye after the other', async () => {
    const peer = await peerTo(host);
    await flood(peer, frame(goaway!, 0, 0, Buffer.concat([wordOf(0), wordOf(0)])));
  });
});

describe('what is small on the wire and large here', () => {
  test('a head that unfolds to sixteen megabytes is no request', async () => {
    const peer = await peerTo(host);
    // One field of 4000 bytes goes into the table, and then stands there four thousand times.
    const large = Buffer.concat([
      Buffer.from([0x40, 1]),
      Buffer.from('x'),
      Buffer.from([0x7f, 0xa1, 0x1e]),
      Buffer.alloc(4000, 'y'),
    ]);
    const bomb = Buffer.concat([hpack(requestFields(host, 'GET', '/bomb')), large, Buffer.alloc(4000, 0xbe)]);
    peer.send(frame(headers!, 4 | endStream, 1, bomb), get(3, '/fine'));
    await eventually(() => peer.outcome(1).reset !== null || peer.closed, 'it is refused');
    expect(peer.outcome(1).answered).toBe(false);
    expect((await gateway.journal()).some(({ path }) => path === '/bomb')).toBe(false);
    peer.socket.destroy();
  });

  test('a body in pieces of one byte that nobody reads yet', async () => {
    const peer = await peerTo(keyed);
    peer.send(post(keyed));
    await flood(peer, dataFrame(1, 'x'), 400_000);
    expect(goawayCode(peer)).toBe(enhanceYourCalm);
  });

  test('more requests than may be open at once', async () => {
    const peer = await peerTo(host);
    for (let n = 0; n < 600; n++) peer.send(get(2 * n + 1));
    await eventually(() => peer.closed, 'the connection is closed');
    expect(mostUnderway).toBeLessThanOrEqual(128);
    await eventually(() => underway === 0, 'the far side is left');
  });

  test('the last number a stream can have', async () => {
    const peer = await peerTo(host);
    peer.send(get(2 ** 31 - 1, '/fine'));
    await eventually(() => peer.outcome(2 ** 31 - 1).answered, 'it is answered');
    peer.socket.destroy();
  });
});

test('uploads that are refused before they are read cost nobody its connection', async () => {
  const session = await openHttp2(gateway, readOnly, { caPath: gateway.caPath });
  for (let n = 0; n < 30; n++) {
    const stream = session.request({ ':method': 'POST', ':path': '/x', ':authority': readOnly });
    stream.on('error', () => {});
    stream.end(Buffer.alloc(60 * 1024));
    const status = await new Promise((resolve) => {
      stream.on('response', (fields) => resolve(fields[':status']));
      stream.on('close', () => resolve(null));
    });
    expect([n, status]).toEqual([n, 403]);
  }
  expect(session.destroyed || session.closed).toBe(false);
  session.destroy();
});

test('and others are served as before', async () => {
  const peer = await peerTo(host);
  peer.send(get(1, '/fine'));
  await eventually(() => peer.outcome(1).answered, 'a request is answered');
  peer.socket.destroy();
});
