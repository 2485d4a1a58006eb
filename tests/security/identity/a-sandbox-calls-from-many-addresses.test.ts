// Must not happen: a sandbox in its own network namespace, where it may call from any address it likes, holds more
// connections than it may by calling from a different one each time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const allowed = 5;
let gateway: TestGateway;
let sandbox: NamespaceSandbox;
let neighbour: NamespaceSandbox;

beforeAll(async () => {
  gateway = await startTestGateway({ allow: [], limits: { connections: allowed } });
  sandbox = await openNamespaceSandbox(gateway);
  neighbour = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox.end();
  await neighbour.end();
  await gateway.stop();
});

/** Connects from as many addresses, to different ports; says how many were told that they are too many. */
const script = `
import select, socket, time
held = []
for i in range(${allowed} + 3):
    port = (443, 80, 3128)[i % 3]
    held.append(socket.create_connection(("127.0.0.1", port), 5, source_address=("198.51.100.%d" % (i + 1), 0)))
told = 0
deadline = time.time() + 5
while told < 3 and time.time() < deadline:
    for s in select.select(held, [], [], 0.2)[0]:
        told += s.recv(12) == b"HTTP/1.1 429"
        held.remove(s)
time.sleep(0.2)
print(told + len(select.select(held, [], [], 0)[0]), flush=True)
time.sleep(20)`;

describe('a sandbox holds as many connections as it may', () => {
  test('whatever addresses it calls from, and at the cost of no other sandbox', async () => {
    const client = sandbox.namespace.start(['python3', '-c', script]);
    expect(await client.stdout.until('\n')).toBe('3\n');
    expect((await neighbour.curl('https://api.example.com/')).status).toBe(403);
    client.kill();
    await client.ended;
  });
});
