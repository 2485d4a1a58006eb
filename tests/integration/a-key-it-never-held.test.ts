import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const realKey = 'sk-ant-real-0123456789';
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.anthropic.com']);
  gateway = await startTestGateway({
    allow: [{ preset: 'anthropic' }],
    upstream: { resolve: { 'api.anthropic.com': upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('anthropic', realKey);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function curl(...args: string[]) {
  return runClient('curl', ['-sS', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-m', '30', ...args]);
}

describe('a sandbox uses a key that it never held', () => {
  test.each(['--http1.1', '--http2'])('curl %s gets an answer made with the real key', async (version) => {
    const run = await curl(
      version,
      'https://api.anthropic.com/v1/messages',
      '-H',
      'x-api-key: placeholder',
      '-d',
      '{}',
    );
    expect(run.stderr).toBe('');
    expect(run.code).toBe(0);
    const seen = upstream.seen.at(-1)!;
    expect(seen.headers['x-api-key']).toBe(realKey);
    expect(seen.headers['anthropic-version']).toBe('2023-06-01');
    expect(seen.httpVersion).toBe(version === '--http2' ? '2.0' : '1.1');
    expect(seen.body).toBe('{}');
  });

  test('every other host is refused with the rule and what would make it pass', async () => {
    const before = upstream.seen.length;
    const run = await curl('https://elsewhere.example/', '-w', '\n%{http_code}');
    const [body, status] = run.stdout.split(/\n+/) as [string, string];
    expect(status).toBe('403');
    const answer = JSON.parse(body) as Record<string, string>;
    expect(answer.code).toBe('domain.not-allowed');
    expect(answer.hint).toContain('- host: elsewhere.example');
    expect(upstream.seen.length).toBe(before);
  });

  test('the journal has both, chained, and no key', async () => {
    const records = await gateway.journal();
    expect(records.map((record) => record.verdict)).toEqual(['allowed', 'allowed', 'refused']);
    expect(JSON.stringify(records)).not.toContain(realKey);
    expect(JSON.stringify(records)).not.toContain('placeholder');
  });
});
