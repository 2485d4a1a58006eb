import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import {
  dataFrame,
  endStream,
  type FieldPairs,
  type FrameUpstream,
  headersFrame,
  startFrameUpstream,
} from '../../support/raw-http2.ts';
import { plainAnswer } from '../../support/recording-upstream.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, type Http2Answer, openHttp2 } from '../../support/tunnel-client.ts';

// An exception in an event of node:http2 would end the process, and with it every other sandbox: the test runner
// reports any that nobody catches as a failure of this file.

let ground: AttackGround;
let frames: FrameUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  ground = await openAttackGround();
  frames = await startFrameUpstream(ground.ca, ['frames.example']);
  gateway = await startTestGateway({
    allow: [{ host: 'frames.example' }],
    upstream: { resolve: { 'frames.example': frames.address }, ca: ground.ca.path },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await frames.close();
  await ground.stop();
});

async function ask(session: ClientHttp2Session): Promise<Http2Answer | null> {
  return askHttp2(session, { ':path': '/' }).catch(() => null);
}

describe('an HTTP/1.1 far side cannot say anything to an HTTP/2 client that ends the gateway', () => {
  const chunkedWith = (trailers: string): string =>
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`;

  test.each([
    ['a trailer that HTTP/2 does not have', chunkedWith('HTTP2-Settings: x\r\n')],
    ['a trailer twice that may stand once', chunkedWith('ETag: a\r\nETag: b\r\n')],
    ['a field twice that may stand once', 'HTTP/1.1 200 OK\r\nETag: a\r\nETag: b\r\nContent-Length: 0\r\n\r\n'],
    [
      'a field twice in an interim answer',
      'HTTP/1.1 103 x\r\nETag: a\r\nETag: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    ],
    ['status 101', 'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw'],
    ['interim answers without end', 'HTTP/1.1 103 x\r\n\r\n'.repeat(2_000)],
    [
      'fields named like parts of an object',
      'HTTP/1.1 200 OK\r\n__proto__: a\r\n__proto__: b\r\nconstructor: c\r\nContent-Length: 0\r\n\r\n',
    ],
  ])('%s', async (_what, bytes) => {
    const session = await openHttp2(ground.gateway, 'api.example', { caPath: ground.gateway.caPath });
    ground.upstream.answerWith(() => bytes);
    const answer = await ask(session);
    // Told in words, reset, or passed: never a session that hangs, and never a broken answer that looks whole.
    if (answer !== null && Number(answer.headers[':status']) !== 502) expect(answer.headers.constructor).toBe('c');
    ground.upstream.answerWith(plainAnswer);
    expect((await ask(session))?.headers[':status']).toBe(200);
    session.destroy();
  });

  test('a field that cannot be passed on is told in words, not by a reset', async () => {
    const session = await openHttp2(ground.gateway, 'api.example', { caPath: ground.gateway.caPath });
    ground.upstream.answerWith(() => 'HTTP/1.1 200 OK\r\nETag: a\r\nETag: b\r\nContent-Length: 0\r\n\r\n');
    const answer = await ask(session);
    expect(answer?.headers['x-sallyport-refused']).toBe('upstream.protocol');
    session.destroy();
  });
});

describe('an HTTP/2 far side cannot either', () => {
  const answers = (...heads: FieldPairs[]): Buffer[] => heads.map((fields) => headersFrame(1, fields, 0));
  const final: FieldPairs = [[':status', '200']];

  test.each<[string, (stream: number) => Buffer[], number | null]>([
    ['status 700', (s) => [headersFrame(s, [[':status', '700']], endStream)], 502],
    ['status 999', (s) => [headersFrame(s, [[':status', '999']], endStream)], 502],
    ['status 101', (s) => [headersFrame(s, [[':status', '101']], 0), headersFrame(s, final, endStream)], null],
    [
      'interim answers without end',
      (s) => Array.from({ length: 500 }, () => headersFrame(s, [[':status', '103']], 0)),
      502,
    ],
    [
      'a head in the trailers',
      (s) => [headersFrame(s, final, 0), dataFrame(s, 'x'), headersFrame(s, [['content-length', '9']], endStream)],
      null,
    ],
    [
      'trailers that HTTP/2 does not have',
      (s) => [headersFrame(s, final, 0), dataFrame(s, 'x'), headersFrame(s, [['http2-settings', 'x']], endStream)],
      null,
    ],
    ['a connection field', (s) => [headersFrame(s, [...final, ['connection', 'x']], endStream)], null],
    ['http2-settings', (s) => [headersFrame(s, [...final, ['http2-settings', 'x']], endStream)], null],
    [
      'a field twice that may stand once',
      (s) => [headersFrame(s, [...final, ['etag', 'a'], ['etag', 'b']], endStream)],
      null,
    ],
    [
      'less than its length',
      (s) => [headersFrame(s, [...final, ['content-length', '9']], 0), dataFrame(s, 'x', endStream)],
      null,
    ],
    [
      'fields named like parts of an object',
      (s) => [headersFrame(s, [...final, ['__proto__', 'a'], ['constructor', 'c']], endStream)],
      200,
    ],
  ])('%s', async (_what, bytes, status) => {
    frames.answerWith((stream, peer) => peer.send(...bytes(stream)));
    const session = await openHttp2(gateway, 'frames.example', { caPath: gateway.caPath });
    const answer = await ask(session);
    if (status !== null) expect(answer?.headers[':status']).toBe(status);
    frames.answerWith((stream, peer) => peer.send(headersFrame(stream, final, endStream)));
    const next = await openHttp2(gateway, 'frames.example', { caPath: gateway.caPath });
    expect((await ask(next))?.headers[':status']).toBe(200);
    session.destroy();
    next.destroy();
  });

  test('the frames above are what they say (a plain answer passes)', async () => {
    frames.answerWith((stream, peer) =>
      peer.send(...answers(final).map(() => headersFrame(stream, final, 0)), dataFrame(stream, 'hello', endStream)),
    );
    const session = await openHttp2(gateway, 'frames.example', { caPath: gateway.caPath });
    expect((await ask(session))?.body.toString()).toBe('hello');
    session.destroy();
  });
});
