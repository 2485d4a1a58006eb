// Every address leads to the door in the network of a container, a pretend one in real namespaces.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as births from '../../src/kit/process/process-birth.ts';
import { containerNetwork } from '../../src/sandbox/docker/container-network.ts';
import { closeNamespaceHandles, openNamespaceDoor } from '../../src/sandbox/namespace/open-namespace-door.ts';
import { LaunchError } from '../../src/sandbox/run/sandbox-plan.ts';
import { makePretendContainer, type PretendContainer } from '../support/pretend-container.ts';

// So that a test can say that a number has changed hands.
vi.mock(import('../../src/kit/process/process-birth.ts'), { spy: true });

let container: PretendContainer;

beforeAll(async () => {
  container = await makePretendContainer();
});
afterAll(() => container.end());

/** Opens the door of a container, as the gateway does, and closes it. */
async function bindContainerAddresses(pid: number, id: string): Promise<void> {
  closeNamespaceHandles(await openNamespaceDoor({ pid, ports: [], network: containerNetwork(pid, id) }));
}

/** Where packets to these addresses would go, in the order of the addresses. */
async function waysTo(of: PretendContainer, ...addresses: string[]): Promise<string[]> {
  const script = 'for at; do ip route get "$at" 2>&1 | head -n 1; done';
  const { stdout } = await of.run(['sh', '-c', script, 'sh', ...addresses]);
  return stdout.trim().split('\n');
}

async function failure(leading: Promise<unknown>): Promise<LaunchError> {
  const error = await leading.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LaunchError)) throw new Error(`expected a LaunchError, got ${String(error)}`);
  expect(error.hint).not.toBe('');
  return error;
}

describe('the addresses of a container are bound in its own network', () => {
  const addresses = ['203.0.113.9', '127.0.0.53', '2001:db8::9'];

  test('every address becomes its own, in both families, and once more changes nothing', async () => {
    expect((await waysTo(container, addresses[0]!))[0]).toContain('unreachable');
    for (let times = 1; times <= 2; times++) {
      await bindContainerAddresses(container.pid, container.id);
      expect(await waysTo(container, ...addresses)).toEqual([
        expect.stringMatching(/^local 203\.0\.113\.9 dev lo src 203\.0\.113\.9/),
        expect.stringMatching(/^local 127\.0\.0\.53 dev lo src 127\.0\.0\.53/),
        expect.stringMatching(/^local 2001:db8::9 .*dev lo/),
      ]);
    }
  });

  test('by the beginning of its id too, as Docker shows it', async () => {
    await expect(bindContainerAddresses(container.pid, container.id.slice(0, 12))).resolves.toBeUndefined();
  });

  test('where IPv6 is off, in IPv4 alone', async () => {
    const off = 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1';
    const old = await makePretendContainer(off);
    try {
      await bindContainerAddresses(old.pid, old.id);
      const [four, six] = await waysTo(old, '203.0.113.9', '2001:db8::9');
      expect(four).toMatch(/^local /);
      expect(six).not.toMatch(/local/);
    } finally {
      await old.end();
    }
  });

  test('by the programs of the system, not by what stands first in PATH', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-planted-'));
    const path = process.env.PATH;
    for (const name of ['ip', 'sh', 'nsenter']) writeFileSync(join(folder, name), '#!/bin/false\n', { mode: 0o755 });
    process.env.PATH = folder;
    try {
      await expect(bindContainerAddresses(container.pid, container.id)).resolves.toBeUndefined();
    } finally {
      process.env.PATH = path;
      rmSync(folder, { recursive: true });
    }
  });
});

describe('what is not such a container is left as it is, and it is said why', () => {
  test('a process of another container, or of none', async () => {
    const other = await makePretendContainer();
    try {
      for (const id of [container.id, 'f'.repeat(64), 'name', '', '.*', container.id.slice(0, 11)]) {
        const error = await failure(bindContainerAddresses(other.pid, id));
        expect(error.message).toBe(
          `process ${other.pid} is not one of the container ${id.slice(0, 12)} on this machine`,
        );
      }
      expect((await waysTo(other, '203.0.113.9'))[0]).toContain('unreachable');
    } finally {
      await other.end();
    }
  });

  test('a process whose number was another one a moment ago', async () => {
    const fresh = await makePretendContainer();
    try {
      vi.mocked(births.processBirth).mockReturnValueOnce('1');
      const error = await failure(bindContainerAddresses(fresh.pid, fresh.id));
      expect(error.message).toContain('is not one of the container');
      expect((await waysTo(fresh, '203.0.113.9'))[0]).toContain('unreachable');
    } finally {
      await fresh.end();
    }
  });

  test('a container with another network', async () => {
    const wired = await makePretendContainer('ip link add eth0 type veth peer name eth1');
    try {
      const error = await failure(bindContainerAddresses(wired.pid, wired.id));
      expect(error.message).toContain('has another way out than the door (eth1, eth0)');
      expect(error.hint).toContain('--network none');
      expect((await waysTo(wired, '203.0.113.9'))[0]).toContain('unreachable');
    } finally {
      await wired.end();
    }
  });

  test('one that has ended', async () => {
    const gone = await makePretendContainer();
    await gone.end();
    const error = await failure(bindContainerAddresses(gone.pid, gone.id));
    expect(error.message).toBe(`there is no process ${gone.pid}`);
  });
});
