// Must not happen: one sandbox is taken for another. The door it comes through says who it is, whatever else it says; what
// one sandbox trusts is worth nothing at the door of the other; and its TLS sessions are not taken up there.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const host = 'api.example.com';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let gateway: TestGateway;
let rich: NamespaceSandbox;
let poor: NamespaceSandbox;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host]);
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: farCa.path },
  });
  await gateway.setSecret('key', 'the-real-key');
  rich = await openNamespaceSandbox(gateway, { registration: { credentials: ['key'] } });
  poor = await openNamespaceSandbox(gateway, { registration: { credentials: [] } });
});

afterAll(async () => {
  await rich.end();
  await poor.end();
  await gateway.stop();
  await upstream.close();
});

describe('a sandbox is the one whose door it came through', () => {
  test('each gets what is its own', async () => {
    expect((await rich.curl(`https://${host}/rich`)).status).toBe(200);
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBe('the-real-key');
    expect((await poor.curl(`https://${host}/poor`)).status).toBe(200);
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBeUndefined();
    const records = await eventually(async () => {
      const all = (await gateway.journal()).filter((one) => one.path === '/rich' || one.path === '/poor');
      return all.length === 2 ? all : null;
    }, 'two records');
    expect(records.map((one) => [one.path, one.sandbox])).toEqual([
      ['/rich', rich.id],
      ['/poor', poor.id],
    ]);
  });

  test('saying to be another changes nothing, on the transparent ports and on the proxy', async () => {
    const claim = Buffer.from(`${rich.id}:${rich.id}`).toString('base64');
    for (const more of [
      ['-H', `Proxy-Authorization: Basic ${claim}`],
      ['-x', `http://${rich.id}:secret@127.0.0.1:3128`],
    ]) {
      await poor.curl(`https://${host}/claim`, more);
      expect(upstream.seen.at(-1)!.headers['x-api-key']).toBeUndefined();
    }
    const claims = await eventually(
      async () => (await gateway.journal()).filter((one) => one.path === '/claim'),
      'records of the claims',
    );
    expect(claims.length).toBeGreaterThan(0);
    for (const record of claims) expect(record.sandbox).not.toBe(rich.id);
  });

  test('the CA of one is not believed behind the door of the other, nor is that of the gateway', async () => {
    expect(readFileSync(rich.caPath, 'utf8')).not.toBe(readFileSync(poor.caPath, 'utf8'));
    for (const wrong of [rich.caPath, gateway.caPath]) {
      expect((await poor.curl(`https://${host}/`, ['--cacert', wrong])).exit).toBe(60);
    }
  });

  test('a TLS session of one is not taken up by the door of the other', async () => {
    const script = `
const tls = require('node:tls');
const [at, session] = [process.argv[1], process.argv[2]];
const socket = tls.connect({ host: at, port: 443, servername: '${host}', rejectUnauthorized: false,
  ...(session === undefined ? {} : { session: Buffer.from(session, 'base64') }) });
socket.on('session', (given) => { if (session === undefined) { console.log(given.toString('base64')); process.exit(); } });
socket.on('secureConnect', () => { if (session !== undefined) { console.log(socket.isSessionReused()); process.exit(); } });`;
    const at = syntheticAddresses(host).v4;
    const [session] = (await rich.namespace.run([process.execPath, '-e', script, at])).stdout.trim().split('\n');
    expect(session!.length).toBeGreaterThan(100);
    expect((await rich.namespace.run([process.execPath, '-e', script, at, session!])).stdout).toBe('true\n');
    expect((await poor.namespace.run([process.execPath, '-e', script, at, session!])).stdout).toBe('false\n');
  });
});
