// limits.request_timeout_ms: a whole request, whatever it is and wherever it is held up, ends in its time; what the client was
// told is over is over for the far side too.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { eventually } from '../../support/eventually.ts';
import { endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls, openTunnel } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const host = 'far.example';
const keyed = 'keyed.example';
const pinned = 'pinned.example';
const farSides: { readonly head: string; readonly socket: Socket }[] = [];
let upstream: RawUpstream;
let plain: RawUpstream;
let gateway: TestGateway;
const folder = mkdtempSync(join(tmpdir(), 'sallyport-gate-'));
const gate = join(folder, 'open');

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host, keyed] },
    serve: async ({ wire, socket }) => {
      const head = await wire.until('\r\n\r\n');
      farSides.push({ head, socket });
      if (head.startsWith('GET /silent')) return;
      socket.write(
        head.startsWith('GET /socket')
          ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
          : 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n',
      );
      dribble(socket);
    },
  });
  plain = await startRawUpstream({
    tls: null,
    serve: ({ socket }) => {
      farSides.push({ head: 'tunnel', socket });
      socket.resume();
      dribble(socket);
    },
  });
  gateway = await startTestGateway({
    allow: [{ host }, { host: keyed }, { host: pinned, tunnel: true }],
    // Is not to be had until the test says so.
    credentials: {
      slow: {
        hosts: [keyed],
        inject: { header: 'x-api-key' },
        source: { command: ['sh', '-c', `until [ -e ${gate} ]; do sleep 0.05; done; echo key`] },
      },
    },
    upstream: {
      resolve: { [host]: upstream.address, [keyed]: upstream.address, [pinned]: plain.address },
      ca: ca.path,
    },
    // An answer that begins must have begun by then, however busy the machine is.
    limits: { request_timeout_ms: 3_000 },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await plain.close();
  rmSync(folder, { recursive: true });
});

/** An empty ping, or just two bytes: never silent for long. */
function dribble(socket: Socket): void {
  const timer = setInterval(() => socket.write(Buffer.from([0x89, 0])), 50);
  socket.on('close', () => clearInterval(timer));
}

const open = (name: string, alpn = 'http/1.1'): Promise<Socket> =>
  openTls(gateway, `${name}:443`, { caPath: gateway.caPath, alpn: [alpn] });

async function ask(name: string, path: string, more = ''): Promise<Wire> {
  const wire = new Wire(await open(name));
  wire.send(`GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`);
  return wire;
}

async function askHttp2(path: string): Promise<FramePeer> {
  const peer = new FramePeer(await open(host, 'h2'), false);
  peer.send(headersFrame(1, requestFields(host, 'GET', path), endStream));
  return peer;
}

test('is answered, or broken off where its answer had begun, and the far side is left', async () => {
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n';
  const [silent, held, begun, upgraded, silentStream, begunStream, tunnel] = await Promise.all([
    ask(host, '/silent'),
    ask(keyed, '/held'),
    ask(host, '/begun'),
    ask(host, '/socket', upgrade),
    askHttp2('/silent?stream'),
    askHttp2('/begun-stream'),
    openTunnel(gateway, `${pinned}:443`),
  ]);
  tunnel.write(clientHelloBytes({ names: [pinned] }));
  tunnel.resume();
  for (const wire of [silent, held]) {
    const { head, body } = await wire.answer();
    expect(head).toContain('HTTP/1.1 504');
    expect(JSON.parse(body)).toMatchObject({ code: 'limit.request-time', rule: 'limits.request_timeout_ms' });
  }
  for (const wire of [begun, upgraded]) expect(await wire.rest()).toMatch(/^HTTP\/1\.1 (200|101)/);
  await eventually(() => silentStream.outcome(1).answered, 'the stream is answered');
  await eventually(() => begunStream.outcome(1).reset !== null, 'the answer that had begun is broken off');
  if (!tunnel.destroyed) await once(tunnel, 'close');
  await eventually(() => farSides.every(({ socket }) => socket.destroyed), 'all far sides are left');
  const records = await eventually(async () => {
    const all = await gateway.journal();
    return all.length === 7 ? all : null;
  }, 'each has one record');
  expect(records.map(({ code, status }) => [code, status])).toEqual(Array(7).fill(['limit.request-time', 504]));
  for (const { socket } of [silentStream, begunStream]) socket.destroy();

  // The request that waited for its credential is over: now that there is one, it must not be sent for nobody.
  writeFileSync(gate, '');
  await eventually(async () => {
    const again = await ask(keyed, '/again');
    const head = await again.until('\r\n\r\n');
    again.socket.destroy();
    return head.includes('HTTP/1.1 200');
  }, 'the credential is there');
  held.socket.destroy();
  expect(farSides.map(({ head }) => head).filter((head) => head.includes('/held'))).toEqual([]);
});
