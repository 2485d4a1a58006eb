import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'grpc.example';
const oldHost = 'http1.example';
let gateway: TestGateway;
let old: RawUpstream;
let closeServer: () => void;
const seen: Record<string, unknown>[] = [];
let sessionsSeen = 0;
let cancelled = 0;

const grpc = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

function serve(stream: ServerHttp2Stream, headers: Record<string, unknown>): void {
  seen.push(headers);
  const path = headers[':path'];
  if (path === '/pkg.Service/Missing') {
    // A trailers-only answer: the one and only head ends the stream.
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'no such thing' },
      { endStream: true },
    );
    return;
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-cost': '7' }));
  stream.on('data', (chunk: Buffer) => {
    if (path === '/pkg.Service/Break') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else stream.write(`echo ${chunk}`);
  });
  stream.on('end', () => {
    if (!stream.destroyed) stream.end();
  });
  stream.on('error', () => {});
  stream.on('aborted', () => cancelled++);
}

beforeAll(async () => {
  const ca = makeTestCa();
  const server = createSecureServer(ca.issue([host]));
  server.on('stream', serve);
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessionsSeen++;
    sessions.add(session);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeServer = () => {
    server.close();
    for (const session of sessions) session.destroy();
  };
  old = await startRawUpstream({ tls: { ca, names: [oldHost] }, serve: () => {} });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startFarGateway(ca, { [host]: { address }, [oldHost]: old });
});

afterAll(async () => {
  await gateway.stop();
  closeServer();
  await old.close();
});

describe('gRPC passes whole over HTTP/2', () => {
  test('messages go both ways while the call is open, and the status comes in the trailers', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ...grpc, ':path': '/pkg.Service/Talk' });
    const trailers = new Promise((resolve) => stream.on('trailers', resolve));
    const wire = new Wire(stream);
    for (const word of ['one', 'two', 'three']) {
      stream.write(word);
      // The call is still open: an answer that waits for its end would stop the test here.
      expect(await wire.bytes(`echo ${word}`.length)).toBe(`echo ${word}`);
    }
    stream.end();
    expect(await trailers).toMatchObject({ 'grpc-status': '0', 'x-cost': '7' });
    expect(seen.at(-1)).toMatchObject({ 'content-type': 'application/grpc', te: 'trailers', ':authority': host });
    session.close();
  });

  test('an answer of trailers alone arrives as one', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const answer = await askHttp2(session, { ...grpc, ':path': '/pkg.Service/Missing' }, 'ask');
    expect(answer.headers).toMatchObject({ ':status': 200, 'grpc-status': '5', 'grpc-message': 'no such thing' });
    expect(answer.body.length).toBe(0);
    session.close();
  });

  test('a call that the far side breaks off is broken for the client too', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    await expect(askHttp2(session, { ...grpc, ':path': '/pkg.Service/Break' }, 'ask')).rejects.toThrow();
    session.destroy();
  });

  test('a call that the client gives up is cancelled at the far side, and the connection lives on', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ...grpc, ':path': '/pkg.Service/Talk' });
    const wire = new Wire(stream);
    stream.write('hello');
    await wire.until('echo hello');
    const before = { cancelled, sessionsSeen };
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => cancelled > before.cancelled, 'the far side hears that it was given up');
    const again = await askHttp2(session, { ...grpc, ':path': '/pkg.Service/Talk' }, 'again');
    expect(again.body.toString()).toBe('echo again');
    expect(sessionsSeen).toBe(before.sessionsSeen);
    session.close();
  });

  test('twenty calls share one connection to the far side', async () => {
    const before = sessionsSeen;
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => askHttp2(session, { ...grpc, ':path': '/pkg.Service/Talk' }, `call ${i}`)),
    );
    expect(answers.map((answer) => answer.body.toString())).toEqual(
      Array.from({ length: 20 }, (_, i) => `echo call ${i}`),
    );
    expect(sessionsSeen - before).toBeLessThanOrEqual(1);
    session.close();
  });

  test('to a far side that speaks only HTTP/1.1 it is refused in words, not downgraded', async () => {
    const session = await openHttp2(gateway, oldHost, { caPath: gateway.caPath });
    const answer = await askHttp2(session, { ...grpc, ':path': '/pkg.Service/Talk' }, 'ask');
    expect(answer.headers[':status']).toBe(502);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'upstream.protocol' });
    expect(answer.body.toString()).toContain('gRPC needs HTTP/2');
    session.close();
  });
});
