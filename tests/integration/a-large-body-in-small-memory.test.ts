import { readFileSync } from 'node:fs';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { drink, pour } from '../support/large-body.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const mib = 1 << 20;
const size = 160 * mib;
/** What may be under way while nobody reads: buffers of four sockets and of the kernel, far from the whole body. */
const mostUnderWay = 40 * mib;
const mostGrowth = 96 * mib;
const host = 'far.example';

let command: BuiltCommand;
let gateway: RunningGateway;
let closeUpstream: () => Promise<void>;
const farSide = { sent: 0, received: 0, startReading: (): void => {} };

function serve(request: Http2ServerRequest, response: Http2ServerResponse): void {
  if (request.method === 'GET') {
    response.setHeader('content-length', size);
    response.writeHead(200);
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
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], serve);
  closeUpstream = upstream.close;
  command = buildCommand({ allow: [{ host }], upstream: { resolve: { [host]: upstream.address }, ca: ca.path } });
  gateway = await command.up();
  await command.run(['register', '--ip', '127.0.0.1']);
});

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await closeUpstream();
  command.remove();
});

function memoryOf(what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024;
}

/** Waits until the number no longer moves, once it has begun to. */
async function settled(read: () => number): Promise<number> {
  for (let last = 0; ; ) {
    await sleep(100);
    if (last > 0 && read() === last) return last;
    last = read();
  }
}

describe('a body of 160 MiB is passed on, not collected', () => {
  test('download over HTTP/1.1 to a client that does not read yet', async () => {
    const before = memoryOf('VmRSS');
    farSide.sent = 0;
    const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
    socket.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await settled(() => farSide.sent)).toBeLessThan(mostUnderWay);
    const wire = new Wire(socket);
    const head = await wire.until('\r\n\r\n');
    expect(head).toContain(`content-length: ${size}`);
    wire.release();
    expect(await drink(socket, size, wire.received.length)).toBe(size);
    socket.destroy();
    expect(memoryOf('VmHWM') - before).toBeLessThan(mostGrowth);
  });

  test('download over HTTP/2 to a client that does not read yet', async () => {
    const before = memoryOf('VmRSS');
    farSide.sent = 0;
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ':path': '/large' });
    expect(await settled(() => farSide.sent)).toBeLessThan(mostUnderWay);
    expect(await drink(stream, size)).toBe(size);
    session.destroy();
    expect(memoryOf('VmHWM') - before).toBeLessThan(mostGrowth);
  });

  test('upload over HTTP/1.1 to a far side that does not read yet', async () => {
    const before = memoryOf('VmRSS');
    let sent = 0;
    const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
    const wire = new Wire(socket);
    wire.send(`POST /large HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${size}\r\n\r\n`);
    const poured = pour(socket, size, (bytes) => {
      sent += bytes;
    });
    expect(await settled(() => sent)).toBeLessThan(mostUnderWay);
    farSide.startReading();
    await poured;
    expect((await wire.until('\r\n\r\n')).startsWith('HTTP/1.1 200')).toBe(true);
    expect(farSide.received).toBe(size);
    socket.destroy();
    expect(memoryOf('VmHWM') - before).toBeLessThan(mostGrowth);
  });

  test('upload over HTTP/2 to a far side that does not read yet', async () => {
    const before = memoryOf('VmRSS');
    let sent = 0;
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ':method': 'POST', ':path': '/large' });
    const poured = pour(stream, size, (bytes) => {
      sent += bytes;
    }).then(() => stream.end());
    expect(await settled(() => sent)).toBeLessThan(mostUnderWay);
    farSide.startReading();
    await poured;
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe(String(size));
    session.destroy();
    expect(memoryOf('VmHWM') - before).toBeLessThan(mostGrowth);
  });
});
