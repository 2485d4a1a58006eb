import { readFileSync } from 'node:fs';
import { connect as connectHttp2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { drink, pour } from '../support/large-body.ts';
import { connectInside, dialMtls, tlsInside } from '../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../support/mtls-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { Wire } from '../support/wire.ts';

const mib = 1 << 20;
const size = 100 * mib;
/** What may be under way while nobody reads: buffers of sockets and of the kernel, far from the whole body. */
const mostUnderWay = 40 * mib;
/** Far side, gateway and client are one process here. */
const mostGrowth = 128 * mib;
const farCa = makeTestCa();
const farSide = { sent: 0, received: 0, startReading: (): void => {} };

let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;
let closeUpstream: () => Promise<void>;

/** Waits until the number no longer moves, once it has begun to. */
async function settled(read: () => number): Promise<number> {
  for (let last = 0; ; ) {
    await sleep(100);
    if (last > 0 && read() === last) return last;
    last = read();
  }
}

function serve(request: Http2ServerRequest, response: Http2ServerResponse): void {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-length': size });
    void pour(response as unknown as Writable, size, (bytes) => {
      farSide.sent += bytes;
    }).then(() => response.end());
    return;
  }
  farSide.startReading = () => {
    void drink(request as unknown as Readable, size).then((bytes) => {
      farSide.received = bytes;
      response.end(String(bytes));
    });
  };
}

beforeAll(async () => {
  const upstream = await startStreamingUpstream(farCa, ['far.example', 'pinned.example'], serve);
  closeUpstream = upstream.close;
  ground = await openMtlsGround({ address: upstream.address, rootPath: farCa.path });
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});

afterAll(async () => {
  await ground.stop();
  await closeUpstream();
});

async function openInside(host: string, alpn = 'http/1.1'): Promise<TLSSocket> {
  const outer = await connectInside(await dialMtls(ground.port, sandbox, { trusted }), `${host}:443`);
  const root = host === 'far.example' ? ground.interceptionCa.certificatePem : readFileSync(farCa.path, 'utf8');
  return tlsInside(outer, host, root, alpn);
}

describe('a body of 100 MiB passes through TLS in TLS without being collected', () => {
  test.each(['far.example', 'pinned.example'])(
    'download over HTTP/1.1 to a client that does not read yet: %s',
    async (host) => {
      const before = process.memoryUsage().rss;
      farSide.sent = 0;
      const socket = await openInside(host);
      socket.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(await settled(() => farSide.sent)).toBeLessThan(mostUnderWay);
      const wire = new Wire(socket);
      await wire.until('\r\n\r\n');
      wire.release();
      expect(await drink(socket, size, wire.received.length)).toBe(size);
      socket.destroy();
      expect(process.memoryUsage().rss - before).toBeLessThan(mostGrowth);
    },
  );

  test('download over HTTP/2 to a client that does not read yet', async () => {
    const before = process.memoryUsage().rss;
    farSide.sent = 0;
    const socket = await openInside('far.example', 'h2');
    const session = connectHttp2('https://far.example', { createConnection: () => socket });
    const stream = session.request({ ':path': '/large' });
    expect(await settled(() => farSide.sent)).toBeLessThan(mostUnderWay);
    expect(await drink(stream, size)).toBe(size);
    session.destroy();
    expect(process.memoryUsage().rss - before).toBeLessThan(mostGrowth);
  });

  test('upload over HTTP/1.1 to a far side that does not read yet', async () => {
    const before = process.memoryUsage().rss;
    let sent = 0;
    const socket = await openInside('far.example');
    const wire = new Wire(socket);
    wire.send(`POST /large HTTP/1.1\r\nHost: far.example\r\nContent-Length: ${size}\r\n\r\n`);
    const poured = pour(socket, size, (bytes) => {
      sent += bytes;
    });
    expect(await settled(() => sent)).toBeLessThan(mostUnderWay);
    farSide.startReading();
    await poured;
    expect(await wire.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    expect(farSide.received).toBe(size);
    socket.destroy();
    expect(process.memoryUsage().rss - before).toBeLessThan(mostGrowth);
  });
});
