// Must not happen: a placeholder or a real key leaves over HTTP/2, in fields, content or trailers, where it does not belong.
import type { ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startStreamingUpstream } from '../../support/fake-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, type Http2Answer, openHttp2 } from '../../support/tunnel-client.ts';
import { misplaced, outbound, outboundConfig, placeholder, realKey } from './outbound-ground.ts';

const host = 'open.example';
let closeUpstream: () => Promise<void>;
/** What arrived, and whether it was whole. */
let seen: { body: string; whole: boolean }[] = [];
let gateway: TestGateway;
let session: ClientHttp2Session;

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], (request, response) => {
    const one = { body: '', whole: true };
    seen.push(one);
    request.on('aborted', () => {
      one.whole = false;
    });
    request.on('data', (chunk: Buffer) => {
      one.body += chunk.toString('latin1');
    });
    request.on('end', () => response.end('fine'));
  });
  closeUpstream = upstream.close;
  gateway = await startTestGateway({
    ...outboundConfig(),
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', realKey);
  session = await openHttp2(gateway, host, { caPath: gateway.caPath });
});

beforeEach(() => {
  seen = [];
});

afterAll(async () => {
  session.close();
  await gateway.stop();
  await closeUpstream();
});

async function expectRefused(answer: Http2Answer, code: string): Promise<void> {
  expect(answer.headers[':status']).toBe(403);
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code, rule: 'secrets.misplaced' });
  await vi.waitFor(() => expect(seen.filter(({ whole }) => whole)).toEqual([]), { timeout: 20_000 });
  expect(JSON.stringify(seen)).not.toMatch(/sallyport-p|Planted/);
  expect((await gateway.journal()).at(-1)).toMatchObject({ code, protocol: 'h2', incident: expect.any(String) });
}

const post = { ':method': 'POST', ':path': '/upload' };

/** With trailers behind the body. */
function withTrailers(trailers: Record<string, string>): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(post, { waitForTrailers: true });
    const chunks: Buffer[] = [];
    let headers = {};
    stream.on('response', (fields) => {
      headers = fields;
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => resolve({ headers, body: Buffer.concat(chunks), trailers: null }));
    stream.end('abc');
  });
}

describe('over HTTP/2 nothing leaves that does not belong', () => {
  test.each([
    ['a placeholder in the path', { ':path': `/${placeholder}` }, undefined, misplaced],
    ['a placeholder in a field', { 'x-note': placeholder }, undefined, misplaced],
    ['a placeholder in the name of a field', { [placeholder]: '1' }, undefined, misplaced],
    ['a placeholder in the content', post, `t=${placeholder}`, misplaced],
    ['a placeholder in compressed content', { ...post, 'content-encoding': 'gzip' }, gzipSync(placeholder), misplaced],
    ['a real key in a field', { authorization: `Bearer ${realKey}` }, undefined, outbound],
    ['a real key in the content', post, realKey, outbound],
  ] as const)('%s', async (_what, fields, body, code) => {
    await expectRefused(await askHttp2(session, { ':path': '/', ...fields }, body), code);
  });

  test('a placeholder in a trailer', async () => {
    await expectRefused(await withTrailers({ 'x-sum': placeholder }), misplaced);
  });

  test('content that holds nothing passes, and so do trailers', async () => {
    const answer = await askHttp2(session, post, `${'x'.repeat(300_000)} sallyport-`);
    expect(answer.headers[':status']).toBe(200);
    expect(seen[0]!.body).toBe(`${'x'.repeat(300_000)} sallyport-`);
    expect((await withTrailers({ 'x-sum': '7' })).headers).toMatchObject({ ':status': 200 });
  });
});
