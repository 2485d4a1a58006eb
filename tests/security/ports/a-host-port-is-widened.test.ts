import { afterAll, beforeAll, expect, test } from 'vitest';
import { dialInside } from '../../support/dial-inside.ts';
import { type EchoServer, startEchoServer } from '../../support/echo-server.ts';
import { eventually } from '../../support/eventually.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let given: EchoServer;
let other: EchoServer;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;
let neighbour: NamespaceSandbox;

beforeAll(async () => {
  [given, other] = await Promise.all([startEchoServer(), startEchoServer()]);
  gateway = await startTestGateway({ allow: [{ host: 'cache.example.com', tcp: [given.port] }] });
  sandbox = await openNamespaceSandbox(gateway, {
    registration: { host_ports: [`${given.port}:15000`, given.port] },
  });
  neighbour = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox?.end();
  await neighbour?.end();
  await gateway?.stop();
});

test('the port that was given answers on both loopbacks of the sandbox, and nothing else of the host does', async () => {
  const hello = `hello from ${given.port}\n`;
  const fine = [
    ['127.0.0.1', 15000],
    ['::1', 15000],
    // The same place, spelt as IPv6.
    ['::ffff:127.0.0.1', 15000],
    // A port that the policy has for a named host as well.
    ['127.0.0.1', given.port],
    ['::1', given.port],
  ] as const;
  for (const { place, got } of await dialInside(sandbox.namespace, fine))
    expect([place, got.slice(0, hello.length)]).toEqual([place, hello]);
  const before = given.accepted;

  const refused = await dialInside(sandbox.namespace, [
    ...['127.0.0.2', '127.1.2.3', '10.0.0.1', '198.51.100.7', '2001:db8::7', 'fd00::7'].map((a) => [a, 15000] as const),
    ...['127.0.0.2', '198.18.0.1', '203.0.113.9', '2001:db8::9'].map((a) => [a, given.port] as const),
    ...['127.0.0.1', '::1', '0.0.0.0', '::'].map((a) => [a, other.port] as const),
    ...['127.0.0.1', '::1', '127.0.0.2', '198.51.100.7'].map((a) => [a, gateway.port] as const),
  ]);
  const silent = ['ConnectionRefusedError', 'ConnectionResetError', ''];
  for (const { place, got } of refused) expect([place, silent.includes(got)]).toEqual([place, true]);
  expect(other.accepted).toBe(0);
  expect(given.accepted).toBe(before);
});

test('another sandbox has nothing of it', async () => {
  const before = given.accepted;
  const found = await dialInside(neighbour.namespace, [
    ['127.0.0.1', 15000],
    ['::1', 15000],
    ['127.0.0.1', given.port],
    ['::1', given.port],
  ]);
  for (const { got } of found) expect(got).not.toContain('hello');
  expect(given.accepted).toBe(before);
});

test('nor does the explicit proxy lead there, by any spelling of the host', async () => {
  const before = given.accepted;
  const script = `
import socket
for host in ("localhost", "127.0.0.1", "[::1]", "sallyport.internal", "host.docker.internal"):
    s = socket.create_connection(("127.0.0.1", 3128), 15)
    s.sendall(f"CONNECT {host}:${given.port} HTTP/1.1\\r\\nHost: {host}:${given.port}\\r\\n\\r\\n".encode())
    print(s.recv(12).decode())`;
  const { stdout } = await sandbox.namespace.run(['python3', '-c', script]);
  const answers = stdout.trim().split('\n');
  expect(answers).toHaveLength(5);
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 40[03]$/);
  expect(given.accepted).toBe(before);
});

test('connections are counted with all others of the sandbox, and bytes both ways are written down', async () => {
  await dialInside(sandbox.namespace, [['127.0.0.1', 15000]]);
  const record = await eventually(
    async () =>
      (await gateway.journal()).find(
        ({ kind, bytes_in: up }) => kind === 'host-port' && typeof up === 'number' && up > 0,
      ),
    'a record',
  );
  expect(record).toMatchObject({ sandbox: sandbox.id, bytes_in: 4, port: given.port, scheme: 'tcp' });
  expect(record.bytes_out).toBeGreaterThanOrEqual(`hello from ${given.port}\n`.length);
});
