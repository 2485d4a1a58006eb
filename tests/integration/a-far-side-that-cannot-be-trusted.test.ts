import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { nobodyThere } from '../support/kept-port.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const trusted = makeTestCa();
const other = makeTestCa();
let good: FakeUpstream;
let foreign: FakeUpstream;
let onlyH2: RawUpstream;
let silent: RawUpstream;
let late: RawUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  good = await startFakeUpstream(trusted, ['good.example']);
  foreign = await startFakeUpstream(other, ['foreign.example']);
  onlyH2 = await startRawUpstream({ tls: { ca: trusted, names: ['h2.example'], alpn: ['h2'] }, serve: () => {} });
  late = await startRawUpstream({
    tls: { ca: trusted, names: ['late.example'] },
    serve: async ({ wire }) => {
      const head = await wire.until('\r\n\r\n');
      if (head.startsWith('GET /half')) wire.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    },
  });
  silent = await startRawUpstream({ tls: null, serve: () => {} });
  gateway = await startTestGateway({
    allow: [
      { host: ['good.example', 'foreign.example', 'wrong-name.example', 'h2.example', 'silent.example'] },
      { host: ['nobody.example', 'late.example', 'localhost'] },
    ],
    credentials: { mine: { hosts: ['foreign.example', 'wrong-name.example'], inject: { bearer: true } } },
    limits: { connect_timeout_ms: 1_500, headers_timeout_ms: 1_500, idle_timeout_ms: 1_500 },
    upstream: {
      resolve: {
        'good.example': good.address,
        'foreign.example': foreign.address,
        'wrong-name.example': good.address,
        'h2.example': onlyH2.address,
        'silent.example': silent.address,
        'nobody.example': nobodyThere,
        'late.example': late.address,
      },
      ca: trusted.path,
    },
  });
  await gateway.register();
  await gateway.setSecret('mine', 'the-real-key-0123456789');
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([good, foreign, onlyH2, silent, late].map((server) => server.close()));
});

describe('a far side that cannot be trusted or reached gets nothing, and the client is told why', () => {
  test.each([
    ['a certificate of an unknown CA', 'foreign.example', '502', 'upstream.certificate'],
    ['a certificate for another name', 'wrong-name.example', '502', 'upstream.certificate'],
    ['one that speaks only HTTP/2 to a client that speaks only HTTP/1.1', 'h2.example', '502', 'upstream.connect'],
    ['one that never finishes its handshake', 'silent.example', '504', 'upstream.timeout'],
    ['one that never begins its answer', 'late.example', '504', 'upstream.timeout'],
    ['one where nobody listens', 'nobody.example', '502', 'upstream.connect'],
    ['a name of this very machine', 'localhost', '502', 'upstream.address-refused', 'refused'],
  ])('%s', async (_what, host, status, code, verdict = 'failed') => {
    const run = await runClient('curl', [
      ...['-sS', '-m', '15', '--http1.1', '-x', gateway.proxyUrl, '--cacert', gateway.caPath],
      ...['-w', '\n%{http_code}', `https://${host}/`],
    ]);
    const [body, answered] = run.stdout.split(/\n+/) as [string, string];
    expect(answered).toBe(status);
    expect(JSON.parse(body)).toMatchObject({ code });
    expect(good.seen.length + foreign.seen.length).toBe(0);
    expect((await gateway.journal()).at(-1)).toMatchObject({ verdict, host, code });
  });

  test.each(['--http1.1', '--http2'])(
    'one that falls silent half-way breaks the answer off: curl %s',
    async (version) => {
      const run = await runClient('curl', [
        ...[
          '-sS',
          '-m',
          '15',
          version,
          '-x',
          gateway.proxyUrl,
          '--cacert',
          gateway.caPath,
          'https://late.example/half',
        ],
      ]);
      expect(run.stdout).toBe('half');
      expect(run.code).not.toBe(0);
      expect(run.code).not.toBe(28);
      expect((await gateway.journal()).at(-1)).toMatchObject({ verdict: 'failed', code: 'upstream.timeout' });
    },
  );

  test('the same gateway reaches one whose certificate is good', async () => {
    const run = await runClient('curl', [
      ...['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, 'https://good.example/'],
    ]);
    expect(run.code).toBe(0);
    expect(good.seen.length).toBe(1);
  });
});
