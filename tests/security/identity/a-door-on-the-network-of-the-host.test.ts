// Must not happen: the door of a sandbox is opened in the network of the gateway itself, where everybody would be taken
// for the sandbox; whether the process named is wrong from the start or changes under our hands.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type DoorChildMessage,
  type DoorChildOrder,
  doorChildSource,
} from '../../../src/sandbox/namespace/door-child.ts';
import { openNamespaceDoor } from '../../../src/sandbox/namespace/open-namespace-door.ts';
import { makeNamespace, type TestNamespace } from '../../support/namespace.ts';
import { startTestGateway } from '../../support/test-gateway.ts';

const here = readlinkSync('/proc/self/ns/net');
let namespace: TestNamespace;

beforeAll(async () => {
  namespace = await makeNamespace();
});
afterAll(() => namespace.end());

const koffi = createRequire(import.meta.url).resolve('koffi');
const harmless = { hostPorts: [], dnsPort: 5399, proxyPort: 3199, ports: [4499], backlog: 1, koffi };

/** The child itself, as if it had been led to the wrong place; gives everything it said. */
async function runChild(enter: readonly string[], order: DoorChildOrder): Promise<DoorChildMessage[]> {
  const [program, ...args] = [...enter, process.execPath, '-e', doorChildSource, JSON.stringify(order)];
  const child = spawn(program!, args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], timeout: 10_000 });
  const said: DoorChildMessage[] = [];
  child.on('message', (message: DoorChildMessage, handle) => {
    said.push(message);
    (handle as { close(): void } | undefined)?.close();
    if (message.kind === 'failed' || message.kind === 'done') child.disconnect();
  });
  await once(child, 'exit');
  return said;
}

describe('no door is opened in the network of the gateway', () => {
  test('the gateway itself is no sandbox', async () => {
    const opening = openNamespaceDoor({ pid: process.pid, ports: [4499] });
    await expect(opening).rejects.toThrow('no network namespace of its own');
  });

  test('which is seen before any program is started', async () => {
    const path = process.env.PATH;
    process.env.PATH = '/nonexistent';
    try {
      const opening = openNamespaceDoor({ pid: process.pid, ports: [4499] });
      await expect(opening).rejects.toThrow('no network namespace of its own');
    } finally {
      process.env.PATH = path;
    }
  });

  test('a registration that asks for it is refused and leaves no sandbox', async () => {
    const gateway = await startTestGateway({ allow: [] });
    try {
      const reply = await gateway.admin('POST', '/internal/containers', { namespace: { pid: process.pid } });
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.body).toContain('no network namespace of its own');
      expect((await gateway.admin('GET', '/internal/containers')).body).not.toContain('namespace sbx');
      expect((await gateway.admin('GET', '/internal/health')).json()).toMatchObject({ sandboxes: 0 });
    } finally {
      await gateway.stop();
    }
  });

  test('the child looks again for itself, and binds nothing where the gateway is', async () => {
    const order = { forbidden: [here], expected: here, ...harmless };
    expect(await runChild([], order)).toEqual([{ kind: 'failed', code: 'own-namespace', text: here }]);
  });

  test('nor in any other namespace than the one that was looked at', async () => {
    const enter = ['nsenter', '--target', String(namespace.pid), '--net', '--'];
    const order = { forbidden: [here], expected: 'net:[1]', ...harmless };
    expect(await runChild(enter, order)).toMatchObject([{ kind: 'failed', code: 'other-namespace' }]);
    // The same order with the right name is carried out: it was the check that refused.
    const right = { ...order, expected: readlinkSync(`/proc/${namespace.pid}/ns/net`) };
    expect((await runChild(enter, right)).at(-1)).toEqual({ kind: 'done' });
  });
});

describe('no door is opened where others can come to it', () => {
  test('a namespace with a network interface of its own is refused', async () => {
    const wired = await makeNamespace({ also: 'ip link add way-out type veth peer name out-there' });
    try {
      const opening = openNamespaceDoor({ pid: wired.pid, ports: [443] });
      await expect(opening).rejects.toThrow('another way out than the door (out-there, way-out)');
    } finally {
      await wired.end();
    }
  });
});
