import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
const realKey = 'the-real-key-0123456789';
const ca = makeTestCa();
let upstream: FakeUpstream;
let plain: RawUpstream;
let gateway: TestGateway;
let closeProxy: () => void;
let asked: string[] = [];
/** What the proxy does with a CONNECT: opens the way, or says something else. */
let behaviour: 'open' | 'loop' | string = 'open';

beforeAll(async () => {
  upstream = await startFakeUpstream(ca, [host, 'tunnel.example']);
  plain = await startRawUpstream({
    tls: null,
    serve: async ({ wire }) => {
      await wire.until('\r\n\r\n');
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain');
    },
  });
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    void (async () => {
      const wire = new Wire(socket);
      const head = await wire.until('\r\n\r\n');
      asked.push(head);
      if (behaviour !== 'open' && behaviour !== 'loop') {
        socket.end(behaviour);
        return;
      }
      const next = connect(
        behaviour === 'loop' ? gateway.port : head.includes(':80 ') ? plain.port : upstream.port,
        '127.0.0.1',
      );
      sockets.add(next);
      next.on('error', () => socket.destroy());
      wire.release();
      if (behaviour === 'open') socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      else next.write(head.replace('\r\n\r\n', '\r\nX-Forwarded: yes\r\n\r\n'));
      next.pipe(socket).pipe(next);
    })().catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closeProxy = () => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  };
  gateway = await startTestGateway({
    allow: [{ host }, { host: 'tunnel.example', tunnel: true }, { host: 'plain.example', plain_http: true }],
    credentials: { mine: { hosts: [host], inject: { bearer: true } } },
    upstream: {
      ca: ca.path,
      proxy: { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, connect: 'name' },
    },
  });
  await gateway.register();
  await gateway.setSecret('mine', realKey);
});

afterAll(async () => {
  await gateway.stop();
  closeProxy();
  await upstream.close();
  await plain.close();
});

beforeEach(async () => {
  asked = [];
  behaviour = 'open';
  await gateway.gateway.reload();
});

async function curl(...more: string[]): Promise<{ status: string; body: string }> {
  const run = await runClient('curl', [
    ...[
      '-sS',
      '-m',
      '40',
      '-x',
      gateway.proxyUrl,
      '--cacert',
      gateway.caPath,
      '-w',
      '\n%{http_code}',
      `https://${host}/`,
    ],
    ...more,
  ]);
  const [body, status] = run.stdout.split(/\n+/) as [string, string];
  return { status, body };
}

describe("the operator's own proxy is asked for every connection", () => {
  test.each(['--http1.1', '--http2'])('and sees only the name, never the key: curl %s', async (version) => {
    expect((await curl(version)).status).toBe('200');
    expect(upstream.seen.at(-1)!.headers.authorization).toBe(`Bearer ${realKey}`);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/^CONNECT far\.example:443 HTTP\/1\.1\r\n/);
    expect(asked[0]).toMatch(/^via: 1\.1 sallyport-[0-9a-f]+\r$/im);
    expect(asked[0]).not.toContain(realKey);
  });

  test('for tunnels as well', async () => {
    const run = await runClient('curl', [
      ...['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', ca.path, 'https://tunnel.example/'],
    ]);
    expect(run.code).toBe(0);
    expect(asked[0]).toMatch(/^CONNECT tunnel\.example:443 /);
  });

  test('for plain http as well', async () => {
    const run = await runClient('curl', ['-sS', '-m', '30', '-x', gateway.proxyUrl, 'http://plain.example/']);
    expect(run.stdout).toBe('plain');
    expect(asked[0]).toMatch(/^CONNECT plain\.example:80 /);
  });

  test.each([
    ['says no', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n', 'refused a way to far.example with status 403'],
    ['says nothing', '', 'closed the connection'],
    ['speaks no HTTP', 'hello\r\n\r\n', 'no readable answer'],
    ['puts bytes of its own into the tunnel', 'HTTP/1.1 200 OK\r\n\r\nsurprise', 'bytes of its own'],
  ])('one that %s is a 502 in words', async (_what, words, explained) => {
    behaviour = words;
    const { status, body } = await curl();
    expect(status).toBe('502');
    expect(JSON.parse(body)).toMatchObject({ code: 'upstream.proxy' });
    expect(body).toContain(explained);
  });

  test('one that leads back to the gateway is a loop, and is refused instead of running for ever', async () => {
    behaviour = 'loop';
    const { status } = await curl();
    expect(status).toBe('502');
    expect(asked.length).toBe(1);
    const codes = (await gateway.journal()).map((record) => record.code);
    expect(codes).toContain('loop.detected');
  });
});
