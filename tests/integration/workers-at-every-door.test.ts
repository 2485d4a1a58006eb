// Two workers behind every kind of door at once, on a network of its own: each door leads to both of them, and the one
// journal tells by whom a request was served.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { addresses, door, type GatewayNetwork, openGatewayNetwork } from '../support/gateway-network.ts';
import type { NetworkHost } from '../support/network-host.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { servedBy } from '../support/workers-ground.ts';

const host = 'api.example.com';
const mtlsDoor = 'door.sallyport.internal:8443';
const farCa = makeTestCa();
const directory = mkdtempSync(join(tmpdir(), 'sallyport-doors-'));
let network: GatewayNetwork;
let identity: string[];

beforeAll(async () => {
  network = await openGatewayNetwork({
    farCa,
    names: [host],
    document: (upstream) => ({
      listen: { proxy: `${door.v4}:8080`, mtls: `${door.v4}:8443`, gateway: [door.v4], workers: 2 },
      allow: [{ host }],
      upstream: { resolve: { [host]: upstream }, ca: farCa.path },
    }),
  });
  await network.register({ id: 'near', container_ip: addresses.first.v4 });
  const reply = await network.admin('POST', '/internal/containers', { id: 'far', proof: ['mtls'] });
  const granted = reply.json<{ grant: { identity: Record<'ca' | 'certificate' | 'key', string> } }>().grant.identity;
  const file = (name: 'ca' | 'certificate' | 'key'): string => {
    const path = join(directory, name);
    writeFileSync(path, granted[name], { mode: 0o600 });
    return path;
  };
  identity = ['--proxy-cacert', file('ca'), '--proxy-cert', file('certificate'), '--proxy-key', file('key')];
});

afterAll(async () => {
  await network.end();
  rmSync(directory, { recursive: true });
});

/** Four at once go to one worker and the other in turn. */
async function leadsToBoth(path: string, from: NetworkHost, ...args: readonly string[]): Promise<void> {
  const runs = await Promise.all([1, 2, 3, 4].map(() => network.curl(from, ...args, `https://${host}${path}`)));
  for (const { code, stdout, stderr } of runs) {
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ url: path });
  }
  const served = () => network.journal().filter((one) => one.path === path && one.verdict === 'allowed');
  await eventually(() => served().length === 4, `all of ${path} are written down`);
  expect(new Set(served().map(servedBy)).size).toBe(2);
}

describe('two workers serve', () => {
  test('the proxy door', () => leadsToBoth('/proxy', network.first, '-x', `http://${door.v4}:8080`));

  test('the door for certificates, which both of them know', () =>
    leadsToBoth(
      '/mtls',
      network.second,
      ...['--resolve', `${mtlsDoor}:${door.v4}`, '--proxy', `https://${mtlsDoor}`, ...identity],
    ));

  test('the door on an internal network, where names are looked up too', () => leadsToBoth('/gateway', network.first));

  test('questions about names: each is answered, and once', async () => {
    const script = `
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.connect(('${door.v4}', 53))
udp.settimeout(5)
asked = b'\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x03api\\x07example\\x03com\\0\\0\\1\\0\\1'
for i in range(50):
    udp.send(bytes([0, i]) + asked)
print(sorted(udp.recv(512)[1] for i in range(50)) == list(range(50)))
udp.settimeout(0.2)
try:
    udp.recv(512)
except TimeoutError:
    print('no more')
`;
    const run = await network.first.run(['python3', '-c', script]);
    expect(run).toEqual({ code: 0, stdout: 'True\nno more\n', stderr: '' });
  });
});
