import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOtherGateway } from '../../support/another-listener.ts';
import { dialInside } from '../../support/dial-inside.ts';
import { startEchoServer } from '../../support/echo-server.ts';
import { eventually } from '../../support/eventually.ts';
import { keptPort } from '../../support/kept-port.ts';
import { openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let gateway: TestGateway;
let dashboard: number;

beforeAll(async () => {
  dashboard = await keptPort();
  gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', dashboard: `127.0.0.1:${dashboard}` },
    allow: [],
  });
});

afterAll(async () => {
  await gateway?.stop();
});

test.each([
  ['the proxy door', () => gateway.port],
  ['the dashboard', () => dashboard],
  ['the API of Docker', () => 2375],
])('a sandbox that is to be led to %s is not registered', async (_what, port) => {
  const asked = openNamespaceSandbox(gateway, { registration: { host_ports: [`${port()}:15000`] } });
  await expect(asked).rejects.toThrow(/409 .*host-port\.reserved/);
  expect((await gateway.admin('GET', '/internal/health')).json()).toMatchObject({ sandboxes: 0 });
});

test('nor to a port of another gateway of this user', async () => {
  const other = await startOtherGateway();
  const asked = openNamespaceSandbox(gateway, { registration: { host_ports: [`${other.port}:15000`] } });
  await expect(asked).rejects.toThrow(/a port of another gateway/);
});

test('a service that goes and leaves its port to a gateway takes the way there with it', async () => {
  const port = await keptPort();
  const service = createServer((socket) => socket.resume().end('a service\n')).listen(port, '127.0.0.1');
  await once(service, 'listening');
  const sandbox = await openNamespaceSandbox(gateway, { registration: { host_ports: [`${port}:15000`] } });
  try {
    expect(await dialInside(sandbox.namespace, [['127.0.0.1', 15000]])).toMatchObject([{ got: 'a service\n' }]);
    service.close();
    await once(service, 'close');
    const other = await startOtherGateway(port);
    const [found] = await dialInside(sandbox.namespace, [['127.0.0.1', 15000]]);
    expect(found!.got).not.toContain('hello');
    expect(other.accepted()).toBe(0);
    const record = await eventually(
      async () => (await gateway.journal()).find((one) => one.kind === 'host-port' && one.verdict === 'refused'),
      'the refusal',
    );
    expect(record).toMatchObject({ code: 'target.port', rule: 'built-in: host ports that are reserved' });
  } finally {
    await sandbox.end();
  }
});

test('what cannot be a port of the host is said when it is registered', async () => {
  const echo = await startEchoServer();
  const register = (body: object) => gateway.admin('POST', '/internal/containers', body);
  for (const [hostPorts, why] of [
    [['5432:443'], "the door's own"],
    [['127.0.0.1:5432'], 'write a port'],
    [[5432, '6379:5432'], 'the same port inside'],
  ] as const) {
    const reply = await register({ id: 'x', namespace: { pid: process.pid }, host_ports: hostPorts });
    expect([reply.status, reply.body]).toEqual([400, expect.stringContaining(why)]);
  }
  const without = await register({ container_ip: '127.0.0.1', host_ports: [echo.port] });
  expect([without.status, without.body]).toEqual([400, expect.stringContaining('need a namespace')]);
});

test('a port of loopback that is not ours is anybody’s to give', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sandbox = await openNamespaceSandbox(gateway, { registration: { host_ports: [`${port}:15000`] } });
  await sandbox.end();
  server.close();
});
