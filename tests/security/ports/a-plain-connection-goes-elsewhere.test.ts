import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { dialInside } from '../../support/dial-inside.ts';
import { type EchoServer, startEchoServer } from '../../support/echo-server.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const cache = 'cache.example.com';
const web = 'api.example.com';
const farCa = makeTestCa();
let echo: EchoServer;
let upstream: FakeUpstream;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;

beforeAll(async () => {
  echo = await startEchoServer();
  upstream = await startFakeUpstream(farCa, [web, cache]);
  gateway = await startTestGateway({
    allow: [
      { host: cache, tcp: [6379] },
      { host: '*.wild.example.com', tcp: [6379] },
      { host: 'localhost', tcp: [echo.port] },
      { host: web },
    ],
    credentials: { key: { hosts: [web, 'key.wild.example.com'], inject: { header: 'x-api-key' } } },
    upstream: {
      resolve: {
        [cache]: `127.0.0.1:${echo.port}`,
        [web]: upstream.address,
        'key.wild.example.com': `127.0.0.1:${echo.port}`,
      },
      ca: farCa.path,
    },
  });
  await gateway.setSecret('key', 'the-real-key');
  sandbox = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox?.end();
  await gateway?.stop();
  await upstream?.close();
});

/** Asks the door for the address, as a resolver inside would. */
async function lookUp(name: string): Promise<string> {
  const script = `
import socket
from struct import pack
q = pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + p for p in b"${name}".split(b".")) + b"\\0" + pack(">HH", 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(15)
s.sendto(q, ("192.0.2.53", 53))
print(".".join(str(b) for b in s.recv(512)[-4:]))`;
  return (await sandbox.namespace.run(['python3', '-c', script])).stdout.trim();
}

async function connectTo(authority: string, then = 'ping'): Promise<string> {
  const script = `
import socket
s = socket.create_connection(("127.0.0.1", 3128), 15)
s.sendall(b"CONNECT ${authority} HTTP/1.1\\r\\nHost: ${authority}\\r\\n\\r\\n${then}")
got = b""
try:
    while b"hello" not in got:
        more = s.recv(4096)
        if not more: break
        got += more
except OSError as error:
    got += type(error).__name__.encode()
print(got.decode("latin1"))`;
  return (await sandbox.namespace.run(['python3', '-c', script])).stdout;
}

async function refusal(match: Record<string, unknown>): Promise<Record<string, unknown>> {
  return eventually(
    async () =>
      (await gateway.journal()).find((one) => Object.entries(match).every(([name, value]) => one[name] === value)),
    `a record of ${JSON.stringify(match)}`,
  );
}

test('the host that is allowed is reached by its own address and by its name', async () => {
  for (const address of Object.values(syntheticAddresses(cache))) {
    expect(await dialInside(sandbox.namespace, [[address, 6379]])).toMatchObject([
      { got: expect.stringContaining(`hello from ${echo.port}\n`) },
    ]);
  }
  expect(await connectTo(`${cache}:6379`)).toContain(`hello from ${echo.port}`);
});

describe('nothing else is', () => {
  test('an address that no name was given, real ones and those of loopback among them', async () => {
    const before = echo.accepted;
    const places = ['203.0.113.7', '10.0.0.1', '169.254.169.254', '127.0.0.1', '127.0.0.2', '::1', '2001:db8::1'];
    for (const { place, got } of await dialInside(
      sandbox.namespace,
      places.map((address) => [address, 6379] as const),
    )) {
      expect([place, ['ConnectionResetError', 'ConnectionRefusedError', ''].includes(got)]).toEqual([place, true]);
    }
    expect(await refusal({ destination: '203.0.113.7:6379', verdict: 'refused' })).toMatchObject({
      code: 'target.literal-address',
      kind: 'tcp',
      scheme: 'tcp',
    });
    expect(echo.accepted).toBe(before);
  });

  test('a host that is allowed for requests, at a port for plain connections', async () => {
    const address = await lookUp(web);
    expect((await dialInside(sandbox.namespace, [[address, 6379]]))[0]!.got).not.toContain('hello');
    expect(await refusal({ host: web, kind: 'tcp' })).toMatchObject({
      code: 'target.port',
      hint: expect.stringContaining(`- host: ${web}\n    tcp: [6379]`),
    });
    expect(await connectTo(`${web}:6379`)).toMatch(/^HTTP\/1\.1 403/);
    expect(upstream.seen).toEqual([]);
  });

  test('a host for plain connections, at the ports of requests: read, and refused in words', async () => {
    const before = echo.accepted;
    const answer = await sandbox.curl(`https://${cache}/`);
    expect(answer).toMatchObject({ status: 403, code: 'domain.not-allowed' });
    expect(answer.body).toContain('by plain TCP, on port 6379');
    expect(await connectTo(`${cache}:443`, 'no TLS hello at all\\r\\n\\r\\n')).not.toContain('hello from');
    expect(echo.accepted).toBe(before);
  });

  test('a name that a wildcard covers, where a credential goes', async () => {
    const before = echo.accepted;
    const address = await lookUp('key.wild.example.com');
    expect((await dialInside(sandbox.namespace, [[address, 6379]]))[0]!.got).not.toContain('hello');
    expect(await connectTo('key.wild.example.com:6379')).toMatch(/^HTTP\/1\.1 403/);
    expect(echo.accepted).toBe(before);
  });

  test('a name of a wildcard that nobody asked for here: its address has no name', async () => {
    const { v6 } = syntheticAddresses('unasked.wild.example.com');
    expect((await dialInside(sandbox.namespace, [[v6, 6379]]))[0]!.got).not.toContain('hello');
    expect(await refusal({ destination: `[${v6}]:6379` })).toMatchObject({ code: 'target.literal-address' });
  });

  test('a name that leads inwards: what was resolved is judged, and nothing is dialled', async () => {
    const before = echo.accepted;
    const { v4 } = syntheticAddresses('localhost');
    expect((await dialInside(sandbox.namespace, [[v4, echo.port]]))[0]!.got).not.toContain('hello');
    expect(await refusal({ host: 'localhost', kind: 'tcp' })).toMatchObject({
      code: 'upstream.address-refused',
      verdict: 'refused',
    });
    expect(echo.accepted).toBe(before);
  });

  test('and the sandbox reads at the door why, with what would let it pass', async () => {
    const { body } = await sandbox.curl('http://sallyport.internal/why?n=20');
    expect(body).toContain(`tcp://${web}:6379`);
    expect(body).toContain('tcp: [6379]');
  });
});
