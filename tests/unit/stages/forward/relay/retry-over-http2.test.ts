import { type ClientHttp2Session, connect, type ServerHttp2Stream } from 'node:http2';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../support/eventually.ts';
import { makeTestCa } from '../../../../support/test-ca.ts';
import { askHttp2 } from '../../../../support/tunnel-client.ts';
import { openRetryGround, type RetryGround, startHttp2Upstream } from './retry-ground.ts';

let upstream: Awaited<ReturnType<typeof startHttp2Upstream>>;
let ground: RetryGround;
let client: ClientHttp2Session;
let serve: (stream: ServerHttp2Stream, authorization: string) => void;
let seen: string[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startHttp2Upstream(ca, (stream, authorization) => {
    seen.push(authorization);
    serve(stream, authorization);
  });
  ground = await openRetryGround(upstream.port, ca);
  ground.use({ http2: true });
  client = connect(`http://127.0.0.1:${ground.port}`);
});

afterAll(async () => {
  client.destroy();
  await ground.close();
  await upstream.close();
});

const refuse = (stream: ServerHttp2Stream): void => {
  stream.respond({ ':status': 401, 'x-why': 'too old' });
  stream.end('no');
};

/** Tells what came, when all of it has. */
const tell = (stream: ServerHttp2Stream): void => {
  let body = '';
  let trailers = {};
  stream.on('data', (chunk: Buffer) => {
    body += chunk;
  });
  stream.on('trailers', (fields: object) => {
    trailers = { ...fields };
  });
  stream.on('end', () => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': 'yes' }));
    stream.end(JSON.stringify([body.length, body.slice(-5), trailers]));
  });
};

beforeEach(() => {
  seen = [];
  ground.use({ http2: true });
  serve = (stream, authorization) => (authorization === 'Bearer old-key' ? refuse(stream) : tell(stream));
});

describe('over HTTP/2 a request that is answered 401', () => {
  test('goes out once more, body, trailers and all', async () => {
    const stream = client.request({ ':method': 'POST', ':path': '/x' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
    let body = '';
    let end = {};
    stream.on('data', (chunk: Buffer) => {
      body += chunk;
    });
    stream.on('trailers', (fields: object) => {
      end = { ...fields };
    });
    stream.end('first and last');
    await new Promise((resolve) => stream.on('close', resolve));
    expect(JSON.parse(body)).toEqual([14, ' last', { 'x-sum': '1' }]);
    expect(end).toMatchObject({ 'x-end': 'yes' });
    expect(seen).toEqual(['Bearer old-key', 'Bearer new-key']);
    expect(ground.outcomes).toEqual([200]);
  });

  test('takes along what came after the answer', async () => {
    const bytes = 6 * 1024 ** 2;
    const { body } = await askHttp2(client, { ':method': 'POST', ':path': '/x' }, `${'x'.repeat(bytes - 5)}the e`);
    expect(JSON.parse(body.toString())).toEqual([bytes, 'the e', {}]);
    expect(ground.renewals).toBe(1);
  });

  test('passes on as it came where there is no other credential', async () => {
    ground.use({ http2: true, renewal: 'none' });
    const answer = await askHttp2(client, { ':method': 'POST', ':path': '/x' }, 'body');
    expect(answer.headers).toMatchObject({ ':status': 401, 'x-why': 'too old' });
    expect(answer.body.toString()).toBe('no');
    expect(seen).toHaveLength(1);
  });

  test('passes on without a body where it has none', async () => {
    ground.use({ http2: true, renewal: 'none' });
    serve = (stream) => stream.respond({ ':status': 401 }, { endStream: true });
    const answer = await askHttp2(client, { ':method': 'GET', ':path': '/x' });
    expect(answer.headers[':status']).toBe(401);
    expect(answer.body.length).toBe(0);
  });

  test('is not repeated for a client that has gone away', async () => {
    let letIt = (_: 'new'): void => {};
    ground.use({
      http2: true,
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    const stream = client.request({ ':method': 'GET', ':path': '/x' });
    stream.on('error', () => {});
    stream.end();
    await eventually(() => ground.renewals === 1, 'the credential is asked for');
    stream.close(8);
    await eventually(() => ground.outcomes.length === 1, 'the request is over');
    expect(ground.outcomes).toEqual(['ClientGone']);
    letIt('new');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen).toHaveLength(1);
  });
});
