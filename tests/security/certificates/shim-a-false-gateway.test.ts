// Attack: somebody on the way poses as the gateway, to read what the sandbox sends or to answer in its place: with a
// certificate of another CA, with the certificate of a sandbox, with one for another name, or with an older TLS. The
// environment of the shim may trust whomever it likes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { dialGateway } from '../../../src/sandbox/shim/dial-gateway.ts';
import { readIdentity } from '../../../src/sandbox/shim/identity.ts';
import { type ClientRun, runClient } from '../../support/run-client.ts';
import { type DoorOptions, openPretendDoor, type PretendDoor } from '../../unit/sandbox/shim/pretend-door.ts';
import { makeIdentities } from '../../unit/sandbox/shim/pretend-identities.ts';

const identities = makeIdentities();
const others = makeIdentities();
const files = identities.identity();
const identity = readIdentity(files);
let folder: string;
let door: PretendDoor;

const driver = `
import { readFileSync } from 'node:fs';
import { dialGateway } from './src/sandbox/shim/dial-gateway.ts';
import { readIdentity } from './src/sandbox/shim/identity.ts';
const identity = readIdentity(JSON.parse(readFileSync(process.argv[2], 'utf8')));
dialGateway({ host: '127.0.0.1', port: Number(process.argv[3]) }, identity, 'http/1.1').then(
  (socket) => { console.log('connected'); socket.destroy(); },
  (error) => console.log(error.message));`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-false-gateway-'));
  buildSync({
    stdin: { contents: driver, resolveDir: process.cwd(), loader: 'ts' },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: join(folder, 'dial.mjs') },
  });
  writeFileSync(join(folder, 'identity.json'), JSON.stringify(files), { mode: 0o600 });
  writeFileSync(join(folder, 'others.pem'), others.ca);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => door.close());

/** Every door takes any client: it is the shim that must not take the door. */
const open = async (options: DoorOptions): Promise<void> => {
  door = await openPretendDoor(identities, { rejectUnauthorized: false, ...options });
};

async function dial(): Promise<string> {
  const socket = await dialGateway(door.endpoint, identity, 'http/1.1');
  socket.destroy();
  return 'connected';
}

const sandbox = identities.identity({ id: 'other' });

describe('the shim talks to no gateway', () => {
  test.each([
    ['whose certificate is of another CA', others.door(), 'could not prove that it is the gateway'],
    ['that shows the certificate of a sandbox', { cert: sandbox.certificate, key: sandbox.key }, 'could not prove'],
    [
      'whose certificate has the name but is one of a client',
      identities.door(undefined, 'clientAuth'),
      'could not prove',
    ],
    ['whose certificate has the name but no use', identities.door(undefined, ''), 'not one of a server'],
    ['whose certificate is for another name', identities.door('gateway.example'), 'not for door.sallyport.internal'],
    ['whose certificate is for its address', identities.door('127.0.0.1'), 'not for door.sallyport.internal'],
    ['whose certificate is for every name there', identities.door('*.sallyport.internal'), 'not for door.sallyport'],
    ['that speaks TLS 1.2', { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const, 'could not prove'],
  ])('%s', async (_who, options, words) => {
    await open(options);
    await expect(dial()).rejects.toThrow(words);
  });

  test('and does talk to the true one', async () => {
    await open({});
    expect(await dial()).toBe('connected');
  });
});

describe('the environment cannot talk it into trusting', () => {
  const inProcess = (env: Record<string, string>): Promise<ClientRun> =>
    runClient(process.execPath, [join(folder, 'dial.mjs'), join(folder, 'identity.json'), String(door.port)], { env });

  test.each([
    ['NODE_EXTRA_CA_CERTS', () => ({ NODE_EXTRA_CA_CERTS: join(folder, 'others.pem') })],
    ['SSL_CERT_FILE', () => ({ SSL_CERT_FILE: join(folder, 'others.pem'), NODE_OPTIONS: '--use-openssl-ca' })],
    ['NODE_TLS_REJECT_UNAUTHORIZED', () => ({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })],
  ])('by %s', async (_name, env) => {
    await open(others.door());
    expect((await inProcess(env())).stdout).toContain('could not prove that it is the gateway');
    await door.close();
    await open({});
    expect((await inProcess(env())).stdout).toBe('connected\n');
  });
});
