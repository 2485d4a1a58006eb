import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

const host = 'api.example';
const key = 'planted-key-7f3a9c51d2';
/** RFC 9110 allows it once; node:http2 throws where it should write it twice. */
const twice = 'ETag: "a"\r\nETag: "b"\r\n';
const stops: (() => Promise<void>)[] = [];
let gateway: TestGateway;

/** Head and body of the answer to this path. */
function answerTo(path: string): Buffer {
  const body = gzipSync(path === '/echo' ? `a ${key} z` : 'content');
  const fields = path === '/good' ? '' : twice;
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n${fields}Content-Length: ${body.length}\r\n\r\n`;
  // Half of it, and silence: then the head is sent on by a timer.
  const sent = path === '/slow' ? body.subarray(0, 12) : body;
  return Buffer.concat([Buffer.from(head), sent]);
}

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: ({ socket }) => {
      socket.on('data', (request: Buffer) => {
        const path = request.toString('latin1').split(' ', 2)[1]!;
        socket.write(answerTo(path));
        if (path === '/slow') setTimeout(() => socket.destroy(), 400);
      });
    },
  });
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  stops.push(
    () => gateway.stop(),
    () => upstream.close(),
  );
  await gateway.register();
  await gateway.setSecret('key', key);
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

// What is thrown in an event of zlib or a timer ends the process, and with it every sandbox: vitest reports it as an error.
describe('a compressed answer with fields that HTTP/2 cannot carry is refused, and nothing else ends', () => {
  test.each([
    ['not asked for', '/', {}],
    ['not asked for, with the credential in it', '/echo', {}],
    ['asked for', '/', { 'accept-encoding': 'gzip' }],
  ])('%s', async (_, path, fields) => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const { headers, body } = await askHttp2(session, { ':method': 'GET', ':path': path, ...fields });
    expect(headers[':status']).toBe(502);
    expect(body.toString()).toContain('upstream.protocol');
    expect(body.toString()).not.toContain('decompressed');
    const next = await askHttp2(session, { ':method': 'GET', ':path': '/good' });
    expect(gunzipSync(next.body).toString()).toBe('content');
    session.destroy();
  });

  test('not asked for, and its upstream falls silent', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const { headers } = await askHttp2(session, { ':method': 'GET', ':path': '/slow' });
    expect(headers[':status']).toBe(502);
    session.destroy();
  });
});
