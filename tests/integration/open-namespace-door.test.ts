// The door of a sandbox, opened in a real network namespace, and what is said when it cannot be.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NamespaceHandles } from '../../src/kit/namespace-handles.ts';
import { closeNamespaceHandles, openNamespaceDoor } from '../../src/sandbox/namespace/open-namespace-door.ts';
import { LaunchError } from '../../src/sandbox/run/sandbox-plan.ts';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';
import { runClient } from '../support/run-client.ts';

let namespace: TestNamespace;
let handles: NamespaceHandles | null = null;

beforeAll(async () => {
  namespace = await makeNamespace();
});
afterEach(() => {
  if (handles !== null) closeNamespaceHandles(handles);
  handles = null;
});
afterAll(() => namespace.end());

async function failure(opening: Promise<unknown>): Promise<LaunchError> {
  const error = await opening.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LaunchError)) throw new Error(`expected a LaunchError, got ${String(error)}`);
  expect(error.hint).not.toBe('');
  return error;
}

/** Ports that listen in the namespace, as the kernel tells it, with how many wait for one at most. */
async function listening(of: TestNamespace = namespace): Promise<string[]> {
  const { stdout } = await of.run(['ss', '-Hltun']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/))
    .map(([protocol, , , backlog, address]) => `${protocol} ${address} ${backlog}`)
    .sort();
}

describe('the door of a sandbox', () => {
  test('listens in its namespace on every port asked for, on 53 and on the proxy port, held by this process alone', async () => {
    handles = await openNamespaceDoor({ pid: namespace.pid, ports: [443, 80, 8443, 443, 53, 3128] });
    expect([...handles.tcp.keys()]).toEqual([443, 80, 8443]);
    expect(await listening()).toEqual([
      'tcp *:443 511',
      'tcp *:53 511',
      'tcp *:80 511',
      'tcp *:8443 511',
      'tcp 127.0.0.1:3128 511',
      'udp 0.0.0.0:53 0',
      'udp [::1]:53 0',
    ]);
    const { stdout } = await runClient('pgrep', ['-P', String(process.pid), '-f', 'process.argv']);
    expect(stdout).toBe('');
  });

  test('is gone when its handles are closed', async () => {
    closeNamespaceHandles(await openNamespaceDoor({ pid: namespace.pid, ports: [443] }));
    await expect.poll(() => listening()).toEqual([]);
  });

  test('opens in a namespace without IPv6 addresses too', async () => {
    const old = await makeNamespace({
      userNamespace: false,
      also: 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1',
    });
    try {
      handles = await openNamespaceDoor({ pid: old.pid, ports: [443] });
      handles.tcp.get(443)!.on('connection', (socket) => socket.end('here\n'));
      const { stdout } = await old.run(['curl', '-s', '--http0.9', '-m', '5', 'http://203.0.113.5:443/']);
      expect(stdout).toBe('here\n');
    } finally {
      await old.end();
    }
  });
});

describe('a door that cannot be opened says why and what to do, and leaves nothing open', () => {
  test('a port is taken', async () => {
    handles = await openNamespaceDoor({ pid: namespace.pid, ports: [80] });
    const error = await failure(openNamespaceDoor({ pid: namespace.pid, ports: [443, 80] }));
    expect(error.message).toContain('taken');
    expect(await listening()).not.toContain('tcp *:443 511');
  });

  test('the process is gone, or never was one', async () => {
    expect((await failure(openNamespaceDoor({ pid: 2 ** 22 + 1, ports: [] }))).message).toContain(
      'there is no process',
    );
    expect((await failure(openNamespaceDoor({ pid: 0, ports: [] }))).message).toContain('not a process id');
    expect((await failure(openNamespaceDoor({ pid: -1, ports: [] }))).message).toContain('not a process id');
  });

  test('nsenter is not installed', async () => {
    const error = await failure(openNamespaceDoor({ pid: namespace.pid, ports: [] }, () => null));
    expect(error.message).toContain('nsenter is not installed');
  });

  test('whoever asked for it no longer wants it', async () => {
    const opening = openNamespaceDoor({ pid: namespace.pid, ports: [443], signal: AbortSignal.timeout(15) });
    await expect(opening).rejects.toThrow(/abort/i);
    expect(await listening()).toEqual([]);
  });
});
