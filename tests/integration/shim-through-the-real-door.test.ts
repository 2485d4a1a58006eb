// The whole way: curl of the agent -> the shim -> the mTLS door -> the gateway -> a far side, and the same way for renewing.
import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IdentityFiles, readIdentity } from '../../src/sandbox/shim/identity.ts';
import { renewIdentity } from '../../src/sandbox/shim/renew-identity.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import type { ClientRun } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { agentUid, makeShimGround, otherUid, type RunningShim, runAs, type ShimGround } from './shim-ground.ts';

const host = 'far.example';
let ground: ShimGround;
let upstream: FakeUpstream;
let gateway: TestGateway;
let door: number;
let granted: IdentityFiles;
let shim: RunningShim;
let caPath: string;

beforeAll(async () => {
  ground = makeShimGround();
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, [host]);
  gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', mtls: '127.0.0.1:0' },
    allow: [{ host }],
    credentials: { mine: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.setSecret('mine', 'a-real-key-0123456789');
  const named = gateway.gateway.summary.doors.find((one) => one.startsWith('mtls'));
  door = Number(/:(\d+)/.exec(named ?? '')?.[1]);
  granted = await register();
  const identity = ground.putIdentity(granted);
  shim = await ground.start([
    ...['--gateway', `127.0.0.1:${door}`, '--identity', identity],
    ...['--for-uid', String(agentUid), '--listen', '127.0.0.1:0'],
  ]);
  // Where the agent can read it.
  caPath = join(ground.folder, 'ca.pem');
  copyFileSync(gateway.caPath, caPath);
  chmodSync(caPath, 0o644);
});
afterAll(async () => {
  await ground.remove();
  await gateway.stop();
  await upstream.close();
});

async function register(): Promise<IdentityFiles> {
  const { grant } = await gateway.register({ id: 'far-box', proof: ['mtls'], credentials: ['mine'] });
  const { certificate, key, ca } = (grant as { identity: IdentityFiles }).identity;
  return { certificate, key, ca };
}

function curl(uid: number, ...more: string[]): Promise<ClientRun> {
  const through = ['-sS', '-m', '30', '-x', shim.proxyUrl, '--cacert', caPath];
  return runAs(uid, ['curl', ...through, ...more]);
}

describe('the agent, by its shim', () => {
  test.each(['--http1.1', '--http2'])('reaches the far side with a key it never held: %s', async (version) => {
    const { stdout, stderr } = await curl(agentUid, version, '-d', 'hello', `https://${host}/v1`);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ method: 'POST', url: '/v1', body: 'hello' });
    expect(upstream.seen.at(-1)?.headers['x-api-key']).toBe('a-real-key-0123456789');
    expect((await gateway.journal()).at(-1)).toMatchObject({ sandbox: 'far-box', proof: ['mtls'], verdict: 'allowed' });
  });

  test('is told the gateway’s own refusals as they are', async () => {
    const { stdout } = await curl(agentUid, 'https://elsewhere.example/');
    expect(JSON.parse(stdout)).toMatchObject({ code: 'domain.not-allowed' });
  });

  test('and nobody else reaches anything', async () => {
    const before = upstream.seen.length;
    const { stdout } = await curl(otherUid, `http://${host}/`);
    expect(stdout).toContain('does not serve uid 54323');
    expect(upstream.seen).toHaveLength(before);
  });
});

describe('the identity of the shim', () => {
  test('is renewed by the gateway, for a key that it never saw', async () => {
    const old = readIdentity(granted);
    const renewed = await renewIdentity({ host: '127.0.0.1', port: door }, old);
    expect(renewed.name).toBe(old.name);
    expect(renewed.files.key).not.toBe(old.files.key);
    expect(renewed.validUntilMs).toBeGreaterThanOrEqual(old.validUntilMs);
    const again = await renewIdentity({ host: '127.0.0.1', port: door }, renewed);
    expect(again.name).toBe(old.name);
  });

  test('keeps the registration alive by renewing, as any traffic does', async () => {
    const expiry = async (): Promise<number> => {
      const { json } = await gateway.admin('GET', '/internal/containers/far-box');
      return Date.parse(json<{ expires_at: string }>().expires_at);
    };
    const before = await expiry();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await renewIdentity({ host: '127.0.0.1', port: door }, readIdentity(granted));
    expect(await expiry()).toBeGreaterThan(before);
  });

  test('is worth nothing once the sandbox is gone, also when it is registered anew', async () => {
    const old = readIdentity(granted);
    await gateway.admin('DELETE', '/internal/containers/far-box');
    expect((await curl(agentUid, '-o', '/dev/null', '-w', '%{http_connect}', `https://${host}/`)).stdout).toMatch(
      /40[37]/,
    );
    await register();
    expect((await curl(agentUid, '-o', '/dev/null', '-w', '%{http_connect}', `https://${host}/`)).stdout).toMatch(
      /40[37]/,
    );
    await expect(renewIdentity({ host: '127.0.0.1', port: door }, old)).rejects.toThrow(
      'the gateway refuses to renew it',
    );
  });
});
