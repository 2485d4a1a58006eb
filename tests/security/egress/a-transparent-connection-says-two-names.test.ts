// Must not happen: on a connection to a host itself, the handshake, Host, the request line or the port name another place
// than the one that is judged; or the handshake hides its name and passes as a tunnel.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
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
    allow: [{ host, plain_http: true, ports: [80, 443, 8443] }, { host: other }, { host: pinned, tunnel: true }],
    upstream: { resolve, ca: farCa.path },
  });
  sandbox = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  expect(upstream.seen).toEqual([]);
  await sandbox.end();
  await gateway.stop();
  await upstream.close();
});

/** What is answered to each request, sent by hand: over TLS with this name in the handshake, or (null) in the clear. */
async function statusesOf(sni: string | null, port: number, requests: readonly string[]): Promise<string[]> {
  const script = `
import json, socket, ssl, sys
sni, port, requests = json.loads(sys.argv[1])
for request in requests:
    s = socket.create_connection((${JSON.stringify(syntheticAddresses(host).v4)}, port), 5)
    if sni is not None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        s = context.wrap_socket(s, server_hostname=sni)
    s.sendall(request.encode())
    print(s.recv(12).decode())`;
  const { stdout, stderr } = await sandbox.namespace.run([
    'python3',
    '-c',
    script,
    JSON.stringify([sni, port, requests]),
  ]);
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

const get = (target: string, named: string): string => `GET ${target} HTTP/1.1\r\nHost: ${named}\r\n\r\n`;

describe('a connection that does not speak with one voice is refused', () => {
  test('over TLS', async () => {
    const requests = [
      get('/', other),
      get('/', `${host}:444`),
      get('/', `${host}.`),
      get(`https://${other}/`, host),
      get(`http://${host}/`, host),
      `GET / HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\n\r\n`,
      'GET / HTTP/1.1\r\n\r\n',
      `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ];
    expect(await statusesOf(host, 443, requests)).toEqual(requests.map(() => 'HTTP/1.1 400'));
  });

  test('with a name in the handshake that is another, or none', async () => {
    expect(await statusesOf(other, 443, [get('/', host)])).toEqual(['HTTP/1.1 400']);
    expect(await statusesOf(`${host}.`, 443, [get('/', host)])).toEqual(['HTTP/1.1 400']);
    expect(await statusesOf('203.0.113.5', 443, [get('/', host)])).toEqual(['HTTP/1.1 403']);
  });

  test('in the clear', async () => {
    const requests = [
      get('/', `${host}:443`),
      get(`http://${other}/`, host),
      get(`https://${host}/`, host),
      `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`,
    ];
    expect(await statusesOf(null, 80, requests)).toEqual(requests.map(() => 'HTTP/1.1 400'));
    // Allowed as a name, but not at this address.
    expect(await statusesOf(null, 80, [get('/', other)])).toEqual(['HTTP/1.1 403']);
  });

  test('on HTTP/2, where one connection could ask for many hosts', async () => {
    const script = `
const session = require('node:http2').connect('https://${host}', { lookup: undefined, host: '${syntheticAddresses(host).v4}', servername: '${host}' });
const stream = session.request({ ':path': '/', ':authority': '${other}' });
stream.on('response', (headers) => { console.log(headers[':status'], headers['x-sallyport-refused']); session.destroy(); });`;
    const { stdout, stderr } = await sandbox.namespace.run([process.execPath, '-e', script], {
      env: { NODE_EXTRA_CA_CERTS: sandbox.caPath },
    });
    expect(stderr).toBe('');
    expect(stdout).toBe('400 mismatch.authority\n');
  });
});

describe('a tunnel shows its name', () => {
  test('an encrypted inner name is refused with a TLS alert, and written down', async () => {
    const hello = clientHelloBytes({ names: [pinned], ech: true }).toString('hex');
    const script = `
import socket
s = socket.create_connection(("${syntheticAddresses(pinned).v4}", 443), 5)
s.sendall(bytes.fromhex("${hello}"))
print(s.recv(100).hex())`;
    const { stdout } = await sandbox.namespace.run(['python3', '-c', script]);
    expect(stdout.trim()).toBe('15030100020231');
    const record = await eventually(
      async () => (await gateway.journal()).find((one) => one.code === 'tunnel.hidden-name'),
      'the refusal is written down',
    );
    expect(record).toMatchObject({ host: pinned, kind: 'tunnel', sandbox: sandbox.id });
  });
});
