import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFarGateway } from '../support/far-gateway.ts';
import { keptPort } from '../support/kept-port.ts';
import { sendTunnelled } from '../support/raw-client.ts';
import { type RawUpstream, type ServeConnection, startRawUpstream } from '../support/raw-upstream.ts';
import { makeTestCa, type TestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../support/tunnel-client.ts';

const host = 'far.example';
const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
let ca: TestCa;
let upstream: RawUpstream;
let gateway: TestGateway;

const well: ServeConnection = async ({ wire }) => {
  for (;;) {
    await wire.until('\r\n\r\n');
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  }
};

beforeAll(async () => {
  ca = makeTestCa();
  upstream = await startRawUpstream({ tls: { ca, names: [host] }, serve: well, port: await keptPort() });
  gateway = await startFarGateway(ca, { [host]: upstream });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function ask(): Promise<string> {
  const { statuses, code } = await sendTunnelled(gateway, host, request);
  return `${statuses[0]} ${code}`;
}

async function askTimes(times: number): Promise<string[]> {
  const outcomes: string[] = [];
  for (let i = 0; i < times; i++) outcomes.push(await ask());
  return outcomes;
}

describe('an upstream that dies', () => {
  test('is asked five times, then left alone, and served again when it is back', async () => {
    expect(await ask()).toBe('200 null');
    const { port } = upstream;
    await upstream.close();
    // The one that was kept is noticed on the way: a GET is tried anew, and then there is nobody.
    expect(new Set(await askTimes(5))).toEqual(new Set(['502 upstream.connect']));
    const refused = await eventually(async () => {
      const answer = await sendTunnelled(gateway, host, request);
      return answer.code === 'upstream.circuit-open' ? answer : null;
    }, 'it is left alone');
    expect(refused.statuses).toEqual([502]);
    expect(refused.text).toMatch(/\r\nRetry-After: \d\r\n/i);
    expect(refused.text).toMatch(/\d failures in a row \(it could not be reached\)/);
    expect(refused.text).not.toMatch(/127\.0\.0\.1/);
    expect((await gateway.journal()).at(-1)).toMatchObject({ verdict: 'failed', code: 'upstream.circuit-open' });

    upstream = await startRawUpstream({ tls: { ca, names: [host] }, serve: well, port });
    await eventually(async () => (await ask()) === '200 null', 'it is tried again');
    expect(await askTimes(3)).toEqual(['200 null', '200 null', '200 null']);
  });

  test('is left alone for HTTP/2 clients too, and a reload begins anew', async () => {
    const { port } = upstream;
    await upstream.close();
    await askTimes(5);
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const answer = await eventually(async () => {
      const refused = await askHttp2(session, { ':path': '/' });
      return refused.headers['x-sallyport-refused'] === 'upstream.circuit-open' ? refused : null;
    }, 'it is left alone');
    expect(answer.headers[':status']).toBe(502);
    expect(answer.headers['retry-after']).toMatch(/^\d$/);
    upstream = await startRawUpstream({ tls: { ca, names: [host] }, serve: well, port });
    await gateway.gateway.reload();
    expect((await askHttp2(session, { ':path': '/' })).body.toString()).toBe('ok');
    session.destroy();
  });
});

test('what an upstream answers is never a failure, whatever it says', async () => {
  const { port } = upstream;
  await upstream.close();
  const statuses = [500, 502, 503, 504, 404, 401, 429, 503, 503, 503, 503, 503];
  const asked = [...statuses];
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    port,
    serve: async ({ wire }) => {
      await wire.until('\r\n\r\n');
      wire.send(`HTTP/1.1 ${asked.shift()} Said So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    },
  });
  expect(await askTimes(statuses.length)).toEqual(statuses.map((status) => `${status} null`));
});
