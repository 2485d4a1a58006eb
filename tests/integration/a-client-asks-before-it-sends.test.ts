import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;
const heads: string[] = [];
const bodies: string[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire }) => {
      for (;;) {
        const { head, body } = await wire.answer();
        heads.push(head);
        bodies.push(body);
        wire.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');
      }
    },
  });
  gateway = await startFarGateway(ca, { [host]: upstream }, { limits: { request_body_bytes: 1_000_000 } });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function ask(name: string, length: number): Promise<Wire> {
  const wire = new Wire(await openTls(gateway, `${name}:443`, { caPath: gateway.caPath }));
  wire.send(`POST /upload HTTP/1.1\r\nHost: ${name}\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`);
  return wire;
}

describe('a client that asks before it sends a body is answered before it has sent it', () => {
  test('100 comes first, then the body goes', async () => {
    const wire = await ask(host, 5);
    expect(await wire.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    wire.send('hello');
    const answer = await wire.answer();
    expect(answer.head.startsWith('HTTP/1.1 200 OK')).toBe(true);
    expect(answer.body).toBe('done');
    expect(bodies.at(-1)).toBe('hello');
    // The gateway has answered the expectation itself.
    expect(heads.at(-1)!.toLowerCase()).not.toContain('expect:');
    wire.socket.destroy();
  });

  test.each([
    ['a host that is not allowed', 'elsewhere.example', 5, '403'],
    ['a body over the limit', host, 1_000_001, '413'],
  ])('%s: refused without 100, nothing reaches the far side', async (_what, name, length, status) => {
    const before = heads.length;
    const wire = await ask(name, length);
    const answer = await wire.answer();
    expect(answer.head.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(await wire.rest()).toBe('');
    expect(heads.length).toBe(before);
  });

  test.each(['--http1.1', '--http2'])('curl %s is told to go on, and sends its body once', async (version) => {
    const body = 'x'.repeat(200_000);
    const run = await runClient(
      'curl',
      [
        ...['-sSv', '-m', '30', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath],
        ...['-H', 'Expect: 100-continue', '--data-binary', '@-', `https://${host}/upload`],
      ],
      { input: body },
    );
    expect(run.stdout).toBe('done');
    expect(run.stderr).toMatch(/^< HTTP\/(1\.1 100 Continue|2 100)/m);
    expect(bodies.at(-1)).toBe(body);
  });

  test('curl sees a refusal instead of 100 and keeps its body', async () => {
    const run = await runClient(
      'curl',
      [
        ...['-sSv', '-m', '30', '--http1.1', '-x', gateway.proxyUrl, '--cacert', gateway.caPath],
        ...['-H', 'Expect: 100-continue', '--data-binary', '@-', 'https://elsewhere.example/upload'],
      ],
      { input: 'x'.repeat(200_000) },
    );
    expect(run.stderr).toContain('< HTTP/1.1 403 Forbidden');
    expect(run.stderr).not.toContain('100 Continue');
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'domain.not-allowed' });
  });
});
