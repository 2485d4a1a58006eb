import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../support/namespace-ground.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const cache = 'cache.example.com';
let postgres: PostgresServer;
let redis: RedisServer;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), RedisServer.start()]);
  gateway = await startTestGateway({
    allow: [{ host: cache, tcp: [6379] }],
    run: { host_ports: [`${redis.port}:16379`] },
    upstream: { resolve: { [cache]: `127.0.0.1:${redis.port}` } },
  });
  sandbox = await openNamespaceSandbox(gateway, { registration: { host_ports: [`${postgres.port}:5432`] } });
});

afterAll(async () => {
  await sandbox?.end();
  await gateway?.stop();
});

function record(match: (one: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
  return eventually(async () => (await gateway.journal()).find(match), 'a record of the connection');
}

test('psql inside works with the PostgreSQL of the host, over both loopbacks, and each connection is one record', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const sql = "create table if not exists t (x int); insert into t values (1); select 'sum ' || sum(x) from t";
    const run = await sandbox.namespace.run(['psql', '-h', host, '-p', '5432', '-U', 'postgres', '-Atc', sql]);
    expect(run).toMatchObject({ code: 0, stderr: expect.not.stringContaining('error') });
    expect(run.stdout).toContain('sum ');
  }
  const found = await record(({ kind, destination }) => kind === 'host-port' && destination === '[::1]:5432');
  expect(found).toMatchObject({
    sandbox: sandbox.id,
    scheme: 'tcp',
    host: 'localhost',
    port: postgres.port,
    verdict: 'allowed',
    rule: `--host-port ${postgres.port}`,
    credential: null,
    upstream: `127.0.0.1:${postgres.port}`,
  });
  expect(found.bytes_in).toBeGreaterThan(50);
  expect(found.bytes_out).toBeGreaterThan(50);
  expect(found.ms).toBeGreaterThan(0);
});

test('redis-cli inside works with the Redis that the policy gives every sandbox', async () => {
  const run = await sandbox.namespace.run(['redis-cli', '-p', '16379', 'SET', 'by', 'host-port']);
  expect(run.stdout).toBe('OK\n');
  expect(await record(({ rule }) => rule === 'run.host_ports[0]')).toMatchObject({ port: redis.port });
});

test('redis-cli inside works with a named host, whose address it looks up by itself', async () => {
  const script = `
import socket
from struct import pack
q = pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + p for p in b"${cache}".split(b".")) + b"\\0" + pack(">HH", 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(q, ("192.0.2.53", 53))
print(".".join(str(b) for b in s.recv(512)[-4:]))`;
  const address = (await sandbox.namespace.run(['python3', '-c', script])).stdout.trim();
  expect(address).toMatch(/^198\.1[89]\./);
  const run = await sandbox.namespace.run(['redis-cli', '-h', address, 'GET', 'by']);
  expect(run.stdout).toBe('host-port\n');
  expect(await record(({ kind }) => kind === 'tcp')).toMatchObject({
    sandbox: sandbox.id,
    scheme: 'tcp',
    host: cache,
    port: 6379,
    destination: `${address}:6379`,
    rule: 'allow[0]',
    verdict: 'allowed',
  });
});

test('what one side has said to the end, the other may still answer', async () => {
  const script = `
import socket
s = socket.create_connection(("127.0.0.1", 16379), 5)
s.sendall(b"PING\\r\\n")
s.shutdown(socket.SHUT_WR)
print(s.recv(100))`;
  expect((await sandbox.namespace.run(['python3', '-c', script])).stdout).toBe("b'+PONG\\r\\n'\n");
});

test('by CONNECT, at the proxy of the sandbox and at the proxy door, with the name that it says', async () => {
  const script = (port: number): string => `
import socket
s = socket.create_connection(("127.0.0.1", ${port}), 5)
s.sendall(b"CONNECT ${cache}:6379 HTTP/1.1\\r\\nHost: ${cache}:6379\\r\\n\\r\\nPING\\r\\n")
got = b""
while b"PONG" not in got:
    more = s.recv(1000)
    if not more: break
    got += more
print(got.split(b"\\r\\n")[0], got[-7:])`;
  const wanted = "b'HTTP/1.1 200 Connection Established' b'+PONG\\r\\n'\n";
  expect((await sandbox.namespace.run(['python3', '-c', script(3128)])).stdout.toLowerCase()).toBe(
    wanted.toLowerCase(),
  );
});
