import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openTls, openTunnel } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'app.pinned.example';
const ca = makeTestCa();
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startFakeUpstream(ca, [host], (_request, response) => response.end('x'.repeat(50_000)));
  gateway = await startTestGateway({
    allow: [{ host: '*.pinned.example', tunnel: true }],
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function curl(trusted: string, ...more: string[]) {
  return runClient('curl', [
    '-sS',
    '-m',
    '10',
    '-x',
    gateway.proxyUrl,
    '--cacert',
    trusted,
    `https://${host}/`,
    ...more,
  ]);
}

describe('a host that is marked as a tunnel is reached without being decrypted', () => {
  test.each(['--http1.1', '--http2'])('the client sees the certificate of the far side: curl %s', async (version) => {
    const run = await curl(ca.path, version, '-d', 'hello');
    expect(run.stderr).toBe('');
    expect(run.stdout.length).toBe(50_000);
    expect(upstream.seen.at(-1)!.body).toBe('hello');
    expect((await curl(gateway.caPath, version)).code).toBe(60);
  });

  test('the journal counts its bytes and knows nothing of what was inside', async () => {
    const before = (await gateway.journal()).length;
    await curl(ca.path, '--http1.1');
    const record = (await eventually(async () => (await gateway.journal())[before], 'the tunnel is written down'))!;
    expect(record).toMatchObject({
      kind: 'tunnel',
      verdict: 'allowed',
      method: 'CONNECT',
      host,
      path: '/',
      credential: null,
    });
    expect(record.bytes_out).toBeGreaterThan(50_000);
    expect(record.bytes_in).toBeGreaterThan(200);
    expect(record.bytes_in).toBeLessThan(5_000);
  });

  test('a handshake for another name inside is refused with a TLS alert, and written down', async () => {
    const before = upstream.seen.length;
    const asked = openTls(gateway, `${host}:443`, { caPath: ca.path, servername: 'elsewhere.example' });
    await expect(asked).rejects.toThrow(/access denied/);
    expect(upstream.seen.length).toBe(before);
    expect((await gateway.journal()).at(-1)).toMatchObject({ verdict: 'refused', code: 'tunnel.sni' });
  });

  test('bytes that are no TLS are refused', async () => {
    const wire = new Wire(await openTunnel(gateway, `${host}:443`));
    wire.send('SSH-2.0-client\r\n');
    await wire.rest();
    expect((await gateway.journal()).at(-1)).toMatchObject({ verdict: 'refused' });
  });

  test('the apex is not covered', async () => {
    const run = await runClient('curl', [
      ...['-sS', '-m', '5', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, 'https://pinned.example/'],
    ]);
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'domain.not-allowed' });
  });
});
