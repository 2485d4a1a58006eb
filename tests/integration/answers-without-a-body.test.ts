import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;

const answers: Record<string, string> = {
  'HEAD /page': 'HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nETag: "one"\r\n\r\n',
  'HEAD /stream': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
  'GET /gone': 'HTTP/1.1 204 No Content\r\nX-Told: yes\r\n\r\n',
  'GET /known': 'HTTP/1.1 304 Not Modified\r\nContent-Length: 12345\r\nETag: "one"\r\n\r\n',
  'GET /empty': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'GET /hints':
    'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n' +
    'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage',
  'GET /after': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nafter',
};

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire }) => {
      for (;;) {
        const head = await wire.until('\r\n\r\n');
        wire.send(answers[head.split(' ', 2).join(' ')]!);
      }
    },
  });
  gateway = await startFarGateway(ca, { [host]: upstream });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const bodiless = [
  ['HEAD', '/page', '200', /^content-length: 12345\r$/im],
  ['HEAD', '/stream', '200', /^HTTP/],
  ['GET', '/gone', '204', /^x-told: yes\r$/im],
  ['GET', '/known', '304', /^etag: "one"\r$/im],
  ['GET', '/empty', '200', /^content-length: 0\r$/im],
] as const;

describe('an answer without a body is complete with its head', () => {
  test.each(bodiless)(
    '%s %s over HTTP/1.1, and the connection serves the next',
    async (method, path, status, field) => {
      const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
      wire.send(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const head = await wire.until('\r\n\r\n');
      expect(head.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
      expect(head).toMatch(field);
      wire.send(`GET /after HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect((await wire.answer()).body).toBe('after');
      wire.socket.destroy();
    },
  );

  test.each(bodiless)('%s %s over HTTP/2', async (method, path, status) => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const answer = await askHttp2(session, { ':method': method, ':path': path });
    expect(answer.headers[':status']).toBe(Number(status));
    expect(answer.body.length).toBe(0);
    session.close();
  });

  test.each(['--http1.1', '--http2'])('curl %s -I shows the length it was told', async (version) => {
    const run = await runClient('curl', [
      ...['-sSI', '-m', '30', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath, `https://${host}/page`],
    ]);
    expect(run.code).toBe(0);
    expect(run.stdout.toLowerCase()).toContain('content-length: 12345');
  });
});

describe('early hints come before the answer', () => {
  test('over HTTP/1.1', async () => {
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(`GET /hints HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const hints = await wire.until('\r\n\r\n');
    expect(hints.startsWith('HTTP/1.1 103 ')).toBe(true);
    expect(hints).toContain('Link: </style.css>; rel=preload');
    expect((await wire.answer()).body).toBe('page');
    wire.socket.destroy();
  });

  test('over HTTP/2', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ':path': '/hints' });
    const hints = await new Promise<Record<string, unknown>>((resolve) => stream.once('headers', resolve));
    expect(hints).toMatchObject({ ':status': 103, link: '</style.css>; rel=preload' });
    let text = '';
    for await (const chunk of stream) text += chunk;
    expect(text).toBe('page');
    session.close();
  });
});
