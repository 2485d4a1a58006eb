// Attack: bodies in chunks of a single byte, from either side, so that a few kilobytes become ten thousand writes, searches
// or calls of a decompressor. What has come in one read goes on in one piece, whatever it was cut into.
import { Duplex } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SecretSearch } from '../../../src/stages/inject/scrub/secret-search.ts';
import { afterThisFile } from '../../support/after-this-file.ts';
import { eventually } from '../../support/eventually.ts';
import { endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const host = 'api.example';
/** The beginning of a placeholder, and of nothing that is one: each byte of it could become a match. */
const content = 'sallyport-pl'.repeat(1000);
/** For reads of a few kilobytes each, and the writes of both ends of the test. */
const most = 1_000;
let upstream: RawUpstream;
let gateway: TestGateway;
let writes = 0;
let searches = 0;

const inChunks = (bytes: Buffer): Buffer =>
  Buffer.concat([...[...bytes].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10])), Buffer.from('0\r\n\r\n')]);

const { write } = Duplex.prototype;
const { find } = SecretSearch.prototype;
// By hand: what watches calls in vitest keeps each of them.
Reflect.set(Duplex.prototype, 'write', function (this: Duplex, ...args: unknown[]): unknown {
  writes++;
  return Reflect.apply(write, this, args);
});
Reflect.set(SecretSearch.prototype, 'find', function (this: unknown, ...args: unknown[]): unknown {
  searches++;
  return Reflect.apply(find, this, args);
});
afterThisFile(() => {
  Reflect.set(Duplex.prototype, 'write', write);
  Reflect.set(SecretSearch.prototype, 'find', find);
});

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire, socket }) => {
      for (;;) {
        const head = await wire.until('\r\n\r\n');
        if (head.startsWith('POST')) {
          await wire.until('0\r\n\r\n');
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          continue;
        }
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        socket.write(inChunks(Buffer.from(content)));
      }
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
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

beforeEach(() => {
  writes = 0;
  searches = 0;
});

const open = async (): Promise<Wire> => new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));

test('an answer goes on in few writes', async () => {
  const wire = await open();
  wire.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const answer = await wire.until('\r\n0\r\n\r\n');
  expect(answer.match(/sallyport-pl/g)!.length).toBeGreaterThan(900);
  expect(writes).toBeLessThan(most);
  wire.socket.destroy();
});

test('and so it does to a client of HTTP/2', async () => {
  const peer = new FramePeer(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath, alpn: ['h2'] }), false);
  peer.send(headersFrame(1, requestFields(host, 'GET', '/'), endStream));
  const isEnd = ({ stream, flags }: { stream: number; flags: number }): boolean => stream === 1 && (flags & 1) !== 0;
  await eventually(() => peer.frames.some(isEnd), 'the answer is whole');
  expect(writes).toBeLessThan(most);
  peer.socket.destroy();
});

test.each<[string, string, Buffer]>([
  ['as it is', '', Buffer.from(content)],
  ['compressed', 'Content-Encoding: gzip\r\n', gzipSync(Buffer.from(content), { level: 0 })],
])('a request body, %s, is searched and goes on in few steps', async (_how, field, body) => {
  const wire = await open();
  wire.send(`POST / HTTP/1.1\r\nHost: ${host}\r\n${field}Transfer-Encoding: chunked\r\n\r\n`);
  wire.send(inChunks(body).toString('latin1'));
  expect((await wire.answer()).head).toContain(' 200 ');
  expect(writes).toBeLessThan(most);
  // Each beginning is looked at once, however it was cut: not once more for every byte behind it.
  expect(searches).toBeLessThan(5 * most);
  wire.socket.destroy();
});
