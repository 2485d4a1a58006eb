// Must not happen: a sandbox reaches an address of the world, or reaches an allowed host somewhere else than where the
// gateway leads it, by dialling an address of its own choice in its namespace.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const host = 'api.example.com';
const other = 'other.example.com';
const pinned = 'app.pinned.example';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host, other, pinned]);
  const resolve = Object.fromEntries([host, other, pinned].map((name) => [name, upstream.address]));
  gateway = await startTestGateway({
    allow: [{ host, plain_http: true, ports: [80, 443] }, { host: other }, { host: pinned, tunnel: true }],
    upstream: { resolve, ca: farCa.path },
  });
  sandbox = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox.end();
  await gateway.stop();
  await upstream.close();
});

async function recorded(destination: string): Promise<Record<string, unknown>> {
  return eventually(
    async () => (await gateway.journal()).find((one) => one.destination === destination),
    `a record of ${destination}`,
  );
}

describe('an address alone leads nowhere, and is told so by a door that it can trust', () => {
  test.each([
    ['https://203.0.113.5/x', '203.0.113.5:443'],
    ['https://[2001:db8::5]/x', '[2001:db8::5]:443'],
    ['http://203.0.113.6/x', '203.0.113.6:80'],
    ['http://[2001:db8::6]/x', '[2001:db8::6]:80'],
    ['http://169.254.169.254/latest/meta-data/', '169.254.169.254:80'],
    ['https://127.0.0.1/x', '127.0.0.1:443'],
  ])('%s', async (url, destination) => {
    for (const version of ['--http1.1', '--http2']) {
      const answer = await sandbox.curl(url, [version]);
      expect(answer).toMatchObject({ exit: 0, status: 403, code: 'target.literal-address' });
      expect(answer.body).toContain('is an address: use the name of the host');
    }
    expect(await recorded(destination)).toMatchObject({
      verdict: 'refused',
      sandbox: sandbox.id,
      code: 'target.literal-address',
    });
    expect(upstream.seen).toEqual([]);
  });

  test('the address that a name has here says nothing without the name', async () => {
    const { v4 } = syntheticAddresses(host);
    expect(await sandbox.curl(`https://${v4}/`, ['-H', `Host: ${host}`])).toMatchObject({
      code: 'target.literal-address',
    });
    expect(await sandbox.curl(`http://${v4}/`)).toMatchObject({ status: 403, code: 'target.literal-address' });
    expect(upstream.seen).toEqual([]);
  });
});

describe('an allowed name at another address is refused', () => {
  test.each([
    ['a foreign one', '203.0.113.9'],
    ['a foreign one of IPv6', '2001:db8::9'],
    ['that of another name, which is allowed too', syntheticAddresses(other).v4],
    ['that of another name in IPv6', syntheticAddresses(other).v6],
  ])('%s', async (_name, address) => {
    for (const url of [`https://${host}/`, `http://${host}/`]) {
      const answer = await sandbox.curl(url, [], address);
      expect(answer).toMatchObject({ exit: 0, status: 403, code: 'target.literal-address' });
    }
    expect(upstream.seen).toEqual([]);
  });

  test('also where its bytes would pass undecrypted: it is never a tunnel then', async () => {
    for (const address of ['203.0.113.9', syntheticAddresses(other).v4]) {
      // The certificate is ours, not that of the far side: curl can read why.
      const answer = await sandbox.curl(`https://${pinned}/`, [], address);
      expect(answer).toMatchObject({ exit: 0, status: 403, code: 'target.literal-address' });
    }
    expect(upstream.seen).toEqual([]);
  });

  test('at its own address all of this passes', async () => {
    expect((await sandbox.curl(`https://${host}/`)).status).toBe(200);
    expect((await sandbox.curl(`https://${pinned}/`, ['--cacert', farCa.path])).status).toBe(200);
  });
});
