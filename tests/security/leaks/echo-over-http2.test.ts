import type { ClientHttp2Session, Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

const host = 'api.example';
const key = 'planted-key-7f3a9c51d2';
const masked = '*'.repeat(key.length);
let upstream: FakeUpstream;
let gateway: TestGateway;
let session: ClientHttp2Session;

/** Answers by path, always with the key that came. */
function echo({ url, headers }: Http2ServerRequest, response: Http2ServerResponse): void {
  const seen = String(headers['x-api-key']);
  switch (url) {
    case '/fields':
      response.writeHead(302, { location: `https://open.example/?k=${seen}`, 'set-cookie': [`k=${seen}`, 'a=b'] });
      response.end();
      return;
    case '/split':
      response.writeHead(200, { 'content-length': String(seen.length + 4) });
      response.write(`a ${seen.slice(0, 7)}`);
      setTimeout(() => response.end(`${seen.slice(7)} z`), 250);
      return;
    case '/gzip':
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(`a ${seen} z`));
      return;
    case '/early':
      response.writeEarlyHints({ link: `</?k=${seen}>; rel=preload` });
      response.end('whole');
      return;
    default:
      response.writeHead(200, { 'content-type': 'application/grpc' });
      response.addTrailers({ 'grpc-status': '16', 'grpc-message': `bad key ${encodeURIComponent(seen)}` });
      response.end('message');
  }
}

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, [host], echo);
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', key);
  session = await openHttp2(gateway, host, { caPath: gateway.caPath });
});

afterAll(async () => {
  session.destroy();
  await gateway.stop();
  await upstream.close();
});

async function ask(path: string, more: Record<string, string> = {}) {
  const fields = { ':method': 'GET', ':path': path, 'grpc-accept-encoding': 'gzip', ...more };
  const answer = await askHttp2(session, fields);
  const request = upstream.seen.at(-1)!;
  expect(request.httpVersion).toBe('2.0');
  expect(request.headers['x-api-key']).toBe(key);
  expect(request.headers['grpc-accept-encoding']).toBeUndefined();
  return { ...answer, text: answer.body.toString() };
}

describe('over HTTP/2 on both sides, a credential does not come back', () => {
  test('in fields', async () => {
    const { headers } = await ask('/fields');
    expect(headers.location).toBe(`https://open.example/?k=${masked}`);
    expect(headers['set-cookie']).toEqual([`k=${masked}`, 'a=b']);
  });

  test('in a body, one half now and one half later, and its length stays true', async () => {
    const { text, headers } = await ask('/split');
    expect(text).toBe(`a ${masked} z`);
    expect(headers['content-length']).toBe(String(text.length));
  });

  test('in a compressed body, asked for or not', async () => {
    for (const more of [{}, { 'accept-encoding': 'gzip' }]) {
      const { body, headers } = await ask('/gzip', more);
      expect(gunzipSync(body).toString()).toBe(`a ${masked} z`);
      expect(headers['content-encoding']).toBe('gzip');
    }
  });

  test('in trailers', async () => {
    const { text, trailers } = await ask('/grpc');
    expect(text).toBe('message');
    expect(trailers).toMatchObject({ 'grpc-status': '16', 'grpc-message': `bad key ${masked}` });
  });

  test('in early hints', async () => {
    const hints: unknown[] = [];
    const stream = session.request({ ':method': 'GET', ':path': '/early' });
    stream.on('headers', (fields) => hints.push(fields.link));
    stream.resume();
    await new Promise((resolve) => stream.on('close', resolve));
    expect(hints).toEqual([`</?k=${masked}>; rel=preload`]);
  });
});
