import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { providerHosts, startProviderGateway } from '../support/provider-gateway.ts';
import { providers } from '../support/providers.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';

let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, providerHosts);
  gateway = await startProviderGateway(ca, upstream);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function curl(url: string, ...args: string[]) {
  return runClient('curl', ['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, url, ...args]);
}

describe('a provider gets its own key and no other, on its own paths alone', () => {
  test.each(providers)('$preset: a JSON call', async ({ host, jsonPath, sent, seen }) => {
    const run = await curl(`https://${host}${jsonPath}`, '-H', sent.join(': '), '--json', '{"a":1}');
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toMatchObject({ method: 'POST', url: jsonPath, body: '{"a":1}' });
    const request = upstream.seen.at(-1)!;
    expect(request.headers[seen[0]]).toBe(seen[1]);
    expect(request.headers['content-type']).toBe('application/json');
    for (const other of providers) {
      if (other.host !== host) expect(JSON.stringify(request)).not.toContain(other.realKey);
    }
    expect(JSON.stringify(request)).not.toContain('placeholder');
  });

  test.each(providers)('$preset: telemetry on the same host goes without a key', async ({ host, realKey, sent }) => {
    const run = await curl(`https://${host}/api/event_logging`, '-H', sent.join(': '), '--json', '{}');
    expect(run.code).toBe(0);
    const request = upstream.seen.at(-1)!;
    expect(request.url).toBe('/api/event_logging');
    expect(JSON.stringify(request)).not.toContain(realKey);
    expect(JSON.stringify(request)).not.toContain('placeholder');
  });
});
