import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Gateway } from '../../src/gateway/contract.ts';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import type { IdentityWithKey } from '../../src/stages/accept/tls/identity-ca.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { dialMtls } from '../support/mtls-client.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';
import { Wire } from '../support/wire.ts';

const farCa = makeTestCa();
let upstream: FakeUpstream;
let home: string;
let gateway: Gateway;
let port: number;

async function start(): Promise<void> {
  gateway = await startGateway({
    home: join(home, 'state'),
    config: join(home, 'sallyport.yaml'),
    log: createLog({ level: 'silent' }),
  });
  const door = gateway.summary.doors.find((name) => name.startsWith('mtls '));
  port = Number(/:(\d+)$/.exec(door ?? '')?.[1]);
}

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, ['far.example']);
  home = mkdtempSync(join(tmpdir(), 'sallyport-home-'));
  const document = {
    version: 1,
    listen: { proxy: '127.0.0.1:0', mtls: '127.0.0.1:0' },
    allow: [{ host: 'far.example' }],
    upstream: { resolve: { 'far.example': upstream.address }, ca: farCa.path },
  };
  writeFileSync(join(home, 'sallyport.yaml'), stringify(document));
  await start();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  rmSync(home, { recursive: true, force: true });
});

async function register(registration: Record<string, unknown>): Promise<IdentityWithKey> {
  const reply = await callAdmin(gateway.summary.adminSocket, 'POST', '/internal/containers', registration);
  expect(reply.status).toBe(201);
  return reply.json<{ grant: { identity: IdentityWithKey } }>().grant.identity;
}

function curl(identity: IdentityWithKey): Promise<ClientRun> {
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  const door = `door.sallyport.internal:${port}`;
  return runClient('curl', [
    ...['-sS', '-m', '30', '--resolve', `${door}:127.0.0.1`, '--proxy', `https://${door}`],
    ...['--proxy-cacert', file('ca.pem', identity.ca), '--proxy-cert', file('certificate.pem', identity.certificate)],
    ...['--proxy-key', file('key.pem', identity.key), '--cacert', gateway.summary.caPath, 'https://far.example/'],
  ]);
}

describe('a sandbox that is registered with the proof mtls', () => {
  test('is handed an identity, calls with it, and goes on after the gateway was started anew', async () => {
    const identity = await register({ id: 'remote', proof: ['mtls'] });
    expect((await curl(identity)).stdout).toContain('"method":"GET"');
    expect(statSync(join(home, 'state', 'identity-ca', 'ca.key')).mode & 0o777).toBe(0o600);
    await gateway.stop();
    await start();
    expect((await curl(identity)).stdout).toContain('"method":"GET"');
  });

  test('is cut off the moment it is unregistered', async () => {
    const identity = await register({ id: 'brief', proof: ['mtls'] });
    const wire = new Wire(await dialMtls(port, identity, { trusted: identity.ca }));
    const unregistered = await callAdmin(gateway.summary.adminSocket, 'DELETE', '/internal/containers/brief');
    expect(unregistered.status).toBeLessThan(300);
    expect(await wire.rest()).toBe('');
    expect((await curl(identity)).code).not.toBe(0);
  });

  test('shows neither its key nor its binding in the list of sandboxes', async () => {
    const identity = await register({ id: 'quiet', proof: ['mtls'] });
    const { body } = await callAdmin(gateway.summary.adminSocket, 'GET', '/internal/containers');
    expect(body).toContain('quiet');
    expect(body).not.toMatch(/PRIVATE|CERTIFICATE|binding/);
    expect(identity.key).toContain('PRIVATE KEY');
  });
});
