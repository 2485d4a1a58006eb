import { writeFileSync } from 'node:fs';
import type { Http2ServerResponse } from 'node:http2';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const hosts = ['first.example', 'second.example'];
let gateway: TestGateway;
let close: () => Promise<void>;
let policy: (allow: readonly string[]) => Record<string, unknown>;
const open: Http2ServerResponse[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, hosts, (request, response) => {
    if (request.url !== '/stream') {
      response.end('answer');
      return;
    }
    response.writeHead(200);
    response.write('before');
    open.push(response);
  });
  close = upstream.close;
  policy = (allow) => ({
    allow: allow.map((host) => ({ host })),
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  gateway = await startTestGateway(policy(['first.example']));
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await close();
});

beforeEach(async () => {
  gateway.writeConfig(policy(['first.example']));
  await gateway.gateway.reload();
});

async function status(host: string): Promise<string> {
  const run = await runClient('curl', [
    ...['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-o', '/dev/null', '-w', '%{http_code}'],
    `https://${host}/`,
  ]);
  return run.stdout;
}

/** The same without a client that has to be started first. */
async function quickStatus(host: string): Promise<string> {
  const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
  wire.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return (await wire.rest()).slice(9, 12);
}

async function health(): Promise<{ warnings: string[]; controls: { name: string; live: boolean }[] }> {
  return (await gateway.admin('GET', '/internal/health')).json();
}

describe('a change of the policy', () => {
  test('is in force when it is told to read it again, in both directions', async () => {
    expect([await status('first.example'), await status('second.example')]).toEqual(['200', '403']);
    gateway.writeConfig(policy(['second.example']));
    // Quickly: it notices by itself after a second or two.
    expect([await quickStatus('first.example'), await quickStatus('second.example')]).toEqual(['200', '403']);
    await gateway.gateway.reload();
    expect([await status('first.example'), await status('second.example')]).toEqual(['403', '200']);
  });

  test('is noticed by itself when the file changes', async () => {
    gateway.writeConfig(policy(hosts));
    await eventually(async () => (await status('second.example')) === '200', 'the new rule is in force');
  });

  test('leaves what is under way alone, over HTTP/1.1 and HTTP/2', async () => {
    const wire = new Wire(await openTls(gateway, 'first.example:443', { caPath: gateway.caPath }));
    wire.send('GET /stream HTTP/1.1\r\nHost: first.example\r\n\r\n');
    await wire.until('before');
    const session = await openHttp2(gateway, 'first.example', { caPath: gateway.caPath });
    const stream = new Wire(session.request({ ':path': '/stream' }));
    await stream.until('before');
    gateway.writeConfig(policy(['second.example']));
    await gateway.gateway.reload();
    for (const response of open.splice(0)) response.end('after');
    await wire.until('after');
    await stream.until('after');
    expect(await stream.rest()).toBe('');
    // The same connection asks again: the new policy is what counts now.
    await wire.until('0\r\n\r\n');
    wire.send('GET / HTTP/1.1\r\nHost: first.example\r\n\r\n');
    expect((await wire.answer()).body).toContain('domain.not-allowed');
    wire.socket.destroy();
    session.destroy();
  });

  test('that is not valid is refused and reported, and the old one stays in force', async () => {
    writeFileSync(gateway.configPath, 'version: 1\nallow:\n  - hots: first.example\n');
    await expect(gateway.gateway.reload()).rejects.toThrow(/hots/);
    expect([await status('first.example'), await status('second.example')]).toEqual(['200', '403']);
    const report = await health();
    expect(report.warnings.join('\n')).toMatch(/not in force.*hots/s);
    expect(report.controls.find((control) => control.name === 'allowlist')).toMatchObject({ live: false });
    gateway.writeConfig(policy(['first.example']));
    await gateway.gateway.reload();
    expect((await health()).warnings.join('\n')).not.toContain('not in force');
  });
});
