import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { plantedKey } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa, type TestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const request = (host: string): string => `GET /fine HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
const hosts = ['good', 'expired', 'named', 'stranger', 'self', 'old'].map((name) => `${name}.example`);

let ca: TestCa;
let far: Record<string, RecordingUpstream>;
let gateway: TestGateway;

function config(roots: readonly string[]): Record<string, unknown> {
  return {
    allow: hosts.map((host) => ({ host })),
    credentials: { key: { hosts, inject: { header: 'x-api-key' } } },
    upstream: {
      resolve: Object.fromEntries(hosts.map((host) => [host, far[host]!.address])),
      ...(roots.length === 0 ? {} : { ca: [...roots] }),
    },
  };
}

beforeAll(async () => {
  ca = makeTestCa();
  const stranger = makeTestCa();
  const good = ca.issue(['good.example']);
  const certificates = [
    good,
    ca.issue(['expired.example'], -1),
    ca.issue(['other.example', 'named.example.other', '*.named.example']),
    stranger.issue(['stranger.example']),
    // Its own root, presented as if that were enough.
    { ...stranger.issue(['self.example']), ca: [] },
    {
      ...ca.issue(['old.example']),
      maxVersion: 'TLSv1.1' as const,
      minVersion: 'TLSv1' as const,
      ciphers: 'ALL@SECLEVEL=0',
    },
  ];
  const started = await Promise.all(certificates.map((options) => startRecordingUpstream(options)));
  far = Object.fromEntries(hosts.map((host, i) => [host, started[i]!]));
  gateway = await startTestGateway(config([ca.path]));
  await gateway.register();
  await gateway.setSecret('key', plantedKey);
});

// An upstream that fails again and again is left alone: every attempt here begins anew.
beforeEach(() => gateway.gateway.reload());

afterAll(async () => {
  await gateway.stop();
  await Promise.all(Object.values(far).map((one) => one.close()));
});

async function isRefused(host: string, code: string): Promise<void> {
  // More than once: a session that was half made must not be taken up again without the checks.
  for (let attempt = 0; attempt < 3; attempt++) {
    const answer = await sendTunnelled(gateway, host, request(host));
    expect([answer.statuses, answer.code]).toEqual([[502], code]);
    expect(far[host]!.bytes).toBe('');
  }
}

describe('nothing is sent to an upstream that cannot prove its name', () => {
  test.each([
    ['an expired certificate', 'expired.example', 'upstream.certificate'],
    ['a certificate for other names', 'named.example', 'upstream.certificate'],
    ['a certificate of a CA we do not know', 'stranger.example', 'upstream.certificate'],
    ['a certificate that vouches for itself', 'self.example', 'upstream.certificate'],
    ['a protocol older than TLS 1.2', 'old.example', 'upstream.connect'],
  ])('%s', (_what, host, code) => isRefused(host, code));

  test('not even when the environment of the gateway says not to look', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    try {
      await isRefused('stranger.example', 'upstream.certificate');
      await isRefused('named.example', 'upstream.certificate');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('the same gateway sends the credential where the name is proven', async () => {
    const answer = await sendTunnelled(gateway, 'good.example', request('good.example'));
    expect(answer.statuses).toEqual([200]);
    expect(far['good.example']!.bytes).toContain(plantedKey);
  });

  test('a root that was withdrawn is not trusted any more, not even by a session from before', async () => {
    far['good.example']!.forget();
    gateway.writeConfig(config([]));
    await gateway.gateway.reload();
    await isRefused('good.example', 'upstream.certificate');
    gateway.writeConfig(config([ca.path]));
    await gateway.gateway.reload();
    const answer = await sendTunnelled(gateway, 'good.example', request('good.example'));
    expect(answer.statuses).toEqual([200]);
  });
});
