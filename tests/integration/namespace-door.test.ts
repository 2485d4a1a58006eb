import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../src/kit/synthetic-address.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../support/namespace-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const host = 'api.example.com';
const pinned = 'app.pinned.example';
const plain = 'plain.example.com';
const farCa = makeTestCa();
const plainSeen: IncomingMessage[] = [];
const plainServer = createServer((request, response) => {
  plainSeen.push(request);
  response.end('plainly');
});
let upstream: FakeUpstream;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host, pinned]);
  plainServer.listen(0, '127.0.0.1');
  await once(plainServer, 'listening');
  gateway = await startTestGateway({
    allow: [
      { host, ports: [443, 8443] },
      { host: pinned, tunnel: true },
      { host: plain, plain_http: true, ports: [80] },
    ],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: {
      resolve: {
        [host]: upstream.address,
        [pinned]: upstream.address,
        [plain]: `127.0.0.1:${(plainServer.address() as AddressInfo).port}`,
      },
      ca: farCa.path,
    },
  });
  await gateway.setSecret('key', 'the-real-key');
  sandbox = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox.end();
  await gateway.stop();
  await upstream.close();
  plainServer.close();
});

async function lastRecord(path: string): Promise<Record<string, unknown>> {
  return eventually(async () => (await gateway.journal()).find((one) => one.path === path), `a record of ${path}`);
}

describe('a sandbox reaches a host as if it were there', () => {
  test.each([
    ['IPv4, HTTP/1.1', 'v4', '--http1.1', 'http/1.1'],
    ['IPv4, HTTP/2', 'v4', '--http2', 'h2'],
    ['IPv6, HTTP/1.1', 'v6', '--http1.1', 'http/1.1'],
    ['IPv6, HTTP/2', 'v6', '--http2', 'h2'],
  ] as const)(
    'with curl over %s, and the credential it never held goes out',
    async (_name, family, version, protocol) => {
      const path = `/${family}/${protocol}`;
      const answer = await sandbox.curl(`https://${host}${path}`, [version], syntheticAddresses(host)[family]);
      expect(answer.stderr).toBe('');
      expect(answer.status).toBe(200);
      expect(upstream.seen.at(-1)!.headers['x-api-key']).toBe('the-real-key');
      const address = syntheticAddresses(host)[family];
      expect(await lastRecord(path)).toMatchObject({
        sandbox: sandbox.id,
        door: `namespace ${sandbox.id}`,
        proof: ['socket'],
        host,
        port: 443,
        protocol,
        destination: family === 'v6' ? `[${address}]:443` : `${address}:443`,
        verdict: 'allowed',
      });
    },
  );

  test('with Node, which looks the name up by itself at a resolver of its choice', async () => {
    const script = `
      const { Resolver } = require('node:dns');
      const resolver = new Resolver({ timeout: 10_000, tries: 1 });
      resolver.setServers(['192.0.2.53']);
      const lookup = (name, options, done) => resolver.resolve4(name, (error, found) =>
        options.all ? done(error, found?.map((address) => ({ address, family: 4 }))) : done(error, found?.[0], 4));
      require('node:https').get('https://${host}/node', { lookup }, (r) => r.resume().on('end', () => console.log(r.statusCode)));`;
    const run = await sandbox.namespace.run([process.execPath, '-e', script], {
      env: { NODE_EXTRA_CA_CERTS: sandbox.caPath },
    });
    expect(run.stderr).toBe('');
    expect(run.stdout).toBe('200\n');
  });

  test('with Python over IPv6, on a port of the policy that is not 443', async () => {
    const { v6 } = syntheticAddresses(host);
    const script = `
import socket, ssl
context = ssl.create_default_context(cafile=${JSON.stringify(sandbox.caPath)})
with context.wrap_socket(socket.create_connection((${JSON.stringify(v6)}, 8443), 5), server_hostname=${JSON.stringify(host)}) as s:
    s.sendall(b"GET /python HTTP/1.1\\r\\nHost: ${host}:8443\\r\\nConnection: close\\r\\n\\r\\n")
    print(s.recv(15).decode())`;
    const run = await sandbox.namespace.run(['python3', '-c', script]);
    expect(run.stderr).toBe('');
    expect(run.stdout.trim()).toBe('HTTP/1.1 200 OK');
    expect(await lastRecord('/python')).toMatchObject({ port: 8443, destination: `[${v6}]:8443` });
  });

  test('in plain http, where the policy allows that', async () => {
    expect(await sandbox.curl(`http://${plain}/in-words`)).toMatchObject({ status: 200, body: 'plainly' });
    expect(plainSeen.at(-1)!.headers.host).toBe(plain);
    expect(await sandbox.curl(`http://${host}/plain`)).toMatchObject({ status: 403, code: 'domain.plain-http' });
  });

  test('undecrypted, where the policy says tunnel: it sees the certificate of the far side', async () => {
    const trusting = await sandbox.curl(`https://${pinned}/`, ['--cacert', farCa.path]);
    expect(trusting).toMatchObject({ exit: 0, status: 200 });
    const record = await eventually(
      async () => (await gateway.journal()).find((one) => one.kind === 'tunnel'),
      'a record of the tunnel',
    );
    expect(record).toMatchObject({
      host: pinned,
      verdict: 'allowed',
      destination: `${syntheticAddresses(pinned).v4}:443`,
    });
  });

  test('through the explicit proxy, for tools that insist on one', async () => {
    const answer = await sandbox.curl(`https://${host}/proxy`, ['-x', 'http://127.0.0.1:3128']);
    expect(answer).toMatchObject({ exit: 0, status: 200 });
    expect(await lastRecord('/proxy')).toMatchObject({ sandbox: sandbox.id, destination: null, proof: ['socket'] });
  });
});

describe('what it may not reach is said to it', () => {
  test('a host that is not allowed is refused inside TLS, in words', async () => {
    for (const version of ['--http1.1', '--http2']) {
      const answer = await sandbox.curl('https://elsewhere.example/path', [version]);
      expect(answer).toMatchObject({ exit: 0, status: 403, code: 'domain.not-allowed' });
    }
    expect(await lastRecord('/path')).toMatchObject({
      host: 'elsewhere.example',
      destination: `${syntheticAddresses('elsewhere.example').v4}:443`,
    });
  });

  test('a port that no rule names refuses the connection at once', async () => {
    const began = performance.now();
    expect((await sandbox.curl(`https://${host}:4443/`)).exit).toBe(7);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('bytes that are no request are answered 400 and written down', async () => {
    const script = `
import socket
for first in (b"\\x16\\x03\\x01\\xff\\xff\\x00\\x00", b"\\x00\\x01\\x02 nonsense\\r\\n\\r\\n"):
    s = socket.create_connection(("${syntheticAddresses(host).v4}", 443), 5)
    s.sendall(first)
    print(s.recv(12))`;
    const run = await sandbox.namespace.run(['python3', '-c', script]);
    expect(run.stdout.split('\n')).toEqual([expect.stringContaining('\\x15\\x03'), "b'HTTP/1.1 400'", '']);
    await eventually(
      async () => (await gateway.journal()).filter((one) => String(one.code).startsWith('malformed.')).length === 2,
      'two records',
    );
  });
});

describe('a name server answers from the address that was asked', () => {
  test('over UDP, so that resolvers believe it', async () => {
    const question = '12340100000100000000000003617069076578616d706c6503636f6d0000010001';
    const script = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(bytes.fromhex("${question}"), ("203.0.113.53", 53))
data, source = s.recvfrom(512)
print(source, ".".join(str(b) for b in data[-4:]) if data[-4] == 198 else "." .join(str(b) for b in data[45:49]))`;
    const run = await sandbox.namespace.run(['python3', '-c', script]);
    expect(run.stdout).toContain("('203.0.113.53', 53)");
    expect(run.stdout).toContain(syntheticAddresses(host).v4);
  });
});

describe('the door goes with its sandbox', () => {
  test('when it is unregistered, what is open is cut and nothing new is taken', async () => {
    const other = await openNamespaceSandbox(gateway);
    try {
      expect((await other.curl(`https://${host}/other`)).status).toBe(200);
      const script = `
import socket
s = socket.create_connection(("${syntheticAddresses(host).v4}", 80), 5)
s.sendall(b"GET")
print("open", flush=True)
print(len(s.recv(1)))`;
      const held = other.namespace.start(['python3', '-c', script]);
      await held.stdout.until('open');
      await gateway.admin('DELETE', `/internal/containers/${other.id}`);
      expect(await held.stdout.until('0\n')).toContain('0');
      await held.ended;
      expect((await other.curl(`https://${host}/`)).exit).toBe(7);
      expect((await other.curl(`https://${host}/`, ['-x', 'http://127.0.0.1:3128'])).exit).toBe(7);
    } finally {
      await other.end();
    }
  });

  test('when the gateway stops, nothing listens in the namespace any more', async () => {
    const short = await startTestGateway({ allow: [{ host }] });
    const left = await openNamespaceSandbox(short);
    try {
      expect((await left.curl('https://elsewhere.example/')).status).toBe(403);
      await short.stop();
      expect((await left.curl('https://elsewhere.example/')).exit).toBe(7);
      expect((await left.namespace.run(['ss', '-Hltun'])).stdout).toBe('');
    } finally {
      await left.end();
    }
  });
});

describe('clients that do not get through say why', () => {
  test('Node in an empty environment knows its own roots alone, and says so', async () => {
    const script = `
      require('node:dns').lookup = (name, options, done) => done(null, [{ address: '${syntheticAddresses(host).v4}', family: 4 }]);
      fetch('https://${host}/').catch((error) => console.log(error.message, error.cause?.code));`;
    const run = await sandbox.namespace.run([process.execPath, '-e', script]);
    expect(run.stdout).toBe('fetch failed UNABLE_TO_VERIFY_LEAF_SIGNATURE\n');
  });

  test('HTTP/1.0 is refused in words, or by an alert where TLS offers nothing else', async () => {
    const answered = upstream.seen.length;
    const inWords = await sandbox.curl(`https://${host}/old`, ['--http1.0', '--no-alpn']);
    expect(inWords).toMatchObject({ status: 400, code: 'malformed.version' });
    expect(JSON.parse(inWords.body)).toMatchObject({
      error: 'HTTP/1.0 requests are not served',
      hint: 'Use HTTP/1.1 or HTTP/2.',
    });
    const inPlain = await sandbox.curl(`http://${plain}/old`, ['--http1.0']);
    expect(inPlain).toMatchObject({ status: 400, code: 'malformed.version' });
    const alert = await sandbox.curl(`https://${host}/old`, ['--http1.0']);
    expect(alert).toMatchObject({ exit: 35, status: 0 });
    expect(alert.stderr).toContain('no application protocol');
    expect(upstream.seen.length).toBe(answered);
    expect(plainSeen.some(({ url }) => url === '/old')).toBe(false);
  });
});
