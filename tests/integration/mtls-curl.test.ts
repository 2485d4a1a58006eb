import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import type { ShownIdentity } from '../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../support/mtls-ground.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';

const farCa = makeTestCa();
let upstream: FakeUpstream;
let ground: MtlsGround;
let sandbox: KnownSandbox;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, ['far.example', 'pinned.example']);
  ground = await openMtlsGround({ address: upstream.address, rootPath: farCa.path });
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
});
afterAll(async () => {
  await ground.stop();
  await upstream.close();
});

/** curl with the door as an HTTPS proxy, known by its fixed name. */
function curl(shown: ShownIdentity | null, host: string, ...more: string[]): Promise<ClientRun> {
  const door = `door.sallyport.internal:${ground.port}`;
  const identity =
    shown === null
      ? []
      : [
          ...['--proxy-cert', ground.file('certificate.pem', shown.certificate)],
          ...['--proxy-key', ground.file('key.pem', shown.key)],
        ];
  const root = host === 'pinned.example' ? farCa.path : ground.interceptionCa.certificatePath;
  return runClient('curl', [
    ...['-sS', '-m', '30', '--resolve', `${door}:127.0.0.1`, '--proxy', `https://${door}`],
    ...['--proxy-cacert', ground.identityCa.certificatePath, ...identity],
    ...['--cacert', root, `https://${host}/curl`, ...more],
  ]);
}

describe('curl through the mTLS door', () => {
  test.each(['--http1.1', '--http2'])('reaches a host that is allowed: %s', async (version) => {
    const run = await curl(sandbox, 'far.example', version, '-d', 'hello');
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toMatchObject({ method: 'POST', url: '/curl', body: 'hello' });
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: 'one', proof: ['mtls'], verdict: 'allowed' });
  });

  test('and one behind a tunnel, by its own certificate', async () => {
    const run = await curl(sandbox, 'pinned.example');
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toMatchObject({ url: '/curl' });
  });

  test('is told in words what is not allowed', async () => {
    const run = await curl(sandbox, 'other.example');
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'domain.not-allowed' });
  });

  test('gets nothing without a certificate', async () => {
    const run = await curl(null, 'far.example');
    expect(run.code).not.toBe(0);
    expect(run.stdout).toBe('');
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'sandbox.proof-missing' });
  });
});
