import { afterAll, beforeAll, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { type EchoServer, startEchoServer } from '../../support/echo-server.ts';
import { eventually } from '../../support/eventually.ts';
import { openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const cache = 'cache.example.com';
let echo: EchoServer;
let gateway: TestGateway;

const policy = (more: object): Record<string, unknown> => ({
  upstream: { resolve: { [cache]: `127.0.0.1:${echo.port}` } },
  allow: [{ host: cache, tcp: [6379] }],
  run: { host_ports: [`${echo.port}:15000`] },
  ...more,
});

beforeAll(async () => {
  echo = await startEchoServer();
  gateway = await startTestGateway(policy({}));
});

afterAll(async () => {
  await gateway?.stop();
});

type Sandbox = Awaited<ReturnType<typeof openNamespaceSandbox>>;

/** Opens a connection from inside, and says when it has ended. */
async function holdOpen(sandbox: Sandbox, address: string, port: number) {
  const script = `
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)
s.recv(100)
print("open", flush=True)
try:
    s.recv(100)
except OSError:
    pass
print("over", flush=True)`;
  const held = sandbox.namespace.start(['python3', '-c', script, address, String(port)]);
  await held.stdout.until('open\n');
  return held;
}

async function holdBoth(sandbox: Sandbox) {
  const plain = await holdOpen(sandbox, syntheticAddresses(cache).v4, 6379);
  return { plain, ofHost: await holdOpen(sandbox, '127.0.0.1', 15000) };
}

test('when the sandbox is unregistered, everything that it has open ends at once, at both ends', async () => {
  const sandbox = await openNamespaceSandbox(gateway);
  try {
    const { plain, ofHost } = await holdBoth(sandbox);
    expect(echo.open.size).toBe(2);
    await gateway.admin('DELETE', `/internal/containers/${sandbox.id}`);
    for (const held of [plain, ofHost]) await held.stdout.until('over\n');
    await eventually(() => echo.open.size === 0, 'the far side sees the end');
    const records = await eventually(async () => {
      const found = (await gateway.journal()).filter((one) => one.sandbox === sandbox.id && one.scheme === 'tcp');
      return found.length === 2 ? found : null;
    }, 'a record of each');
    for (const record of records) expect(record.bytes_out).toBeGreaterThan(0);
  } finally {
    await sandbox.end();
  }
});

test('when another policy takes one away, that one ends, and says why in the journal', async () => {
  const sandbox = await openNamespaceSandbox(gateway);
  try {
    const { plain, ofHost } = await holdBoth(sandbox);
    gateway.writeConfig(policy({ allow: [] }));
    await gateway.gateway.reload();
    await plain.stdout.until('over\n');
    await eventually(() => echo.open.size === 1, 'the other stays open');
    expect(
      await eventually(
        async () => (await gateway.journal()).find((one) => one.kind === 'tcp' && one.verdict === 'refused'),
        'the record',
      ),
    ).toMatchObject({ sandbox: sandbox.id, code: 'domain.not-allowed', host: cache });
    gateway.writeConfig(policy({ allow: [], run: {} }));
    await gateway.gateway.reload();
    await ofHost.stdout.until('over\n');
    await eventually(() => echo.open.size === 0, 'no way is left');
    const again = await sandbox.namespace.run([
      'python3',
      '-c',
      'import socket\ntry:\n    print(len(socket.create_connection(("127.0.0.1", 15000), 15).recv(9)))\nexcept (ConnectionResetError, BrokenPipeError) as error:\n    print("reset")',
    ]);
    expect(again.stdout).toMatch(/^(0|reset)\n$/);
    expect(echo.open.size).toBe(0);
  } finally {
    await sandbox.end();
  }
});
