import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Container, containerOf, podOf, readManifests, readText } from '../support/kubernetes-manifests.ts';
import { layVolumes, type PodHost, runContainer, startContainer } from '../support/pod-container.ts';
import { makePodGround, type PodGround, world4 } from '../support/pod-ground.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

// The pod of deploy/kubernetes/sidecar, container after container as its manifest has them, in a network of its own.
let command: BuiltCommand;
let network: PodGround;
let host: PodHost;
let gateway: ChildProcess;
let said = '';

const container = (name: string): Container => containerOf('sidecar', name);

beforeAll(async () => {
  command = buildCommand({});
  chmodSync(command.home, 0o755);
  network = await makePodGround();
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-pod-'));
  chmodSync(folder, 0o755);
  host = { folder, built: join(command.home, 'package'), enter: network.enter };
  layVolumes(host, podOf('sidecar'), readManifests('sidecar'), { 'sallyport-credentials': { github: 'ghp_pretend' } });
  expect((await network.setUp(['nft', '-f', '-'], readText('sidecar', 'egress.nft'))).code).toBe(0);
});

afterAll(async () => {
  if (gateway?.exitCode === null) {
    const ended = once(gateway, 'exit');
    gateway.kill('SIGTERM');
    await ended;
  }
  await network.end();
  command.remove();
  rmSync(host.folder, { recursive: true, force: true });
});

describe('the sidecar pod, without a cluster', () => {
  test('prepare: a private state directory, and credentials that only the gateway can read', async () => {
    const run = await runContainer(host, container('prepare'));
    expect([run.code, run.stderr]).toEqual([0, '']);
    for (const [path, mode] of [
      ['state/own', 0o40700],
      ['memory/own', 0o40700],
      ['memory/own/github', 0o100600],
    ] as const)
      expect(statSync(join(host.folder, path)), path).toMatchObject({ uid: 10001, mode });
    // When a pod is set up again, its volumes are still there.
    expect((await runContainer(host, container('prepare'))).code).toBe(0);
  });

  test('gateway: it starts with these volumes, is healthy, and hands over what the agent needs', async () => {
    gateway = startContainer(host, container('gateway'));
    for (const stream of [gateway.stdout, gateway.stderr])
      stream!.on('data', (chunk: Buffer) => {
        said += chunk;
      });
    await eventually(async () => {
      if (gateway.exitCode !== null) throw new Error(said);
      return (await runContainer(host, container('gateway'), ['healthcheck'])).code === 0;
    }, 'the gateway is healthy');
    expect(readdirSync(join(host.folder, 'handover')).sort()).toEqual(['bundle.pem', 'ca.pem', 'git']);
    expect(said).toMatch(/set +github +file/);
  });

  test('register: the one sandbox is known, also when it is registered a second time', async () => {
    for (let time = 0; time < 2; time++) {
      const run = await runContainer(host, container('register'));
      expect([run.code, run.stderr, run.stdout]).toEqual([0, '', '']);
    }
    // Not after a quiet day: there is nobody in the pod who would register it again.
    const listed = await runContainer(host, container('register'), ['sallyport', 'list', '--json']);
    const [{ expires_at }] = JSON.parse(listed.stdout) as [{ expires_at: string }];
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + 1000 * 86_400_000);
  });

  test('agent: the door knows it, and refuses what the policy does not allow, in words', async () => {
    const ask = ['curl', '--silent', '--show-error', '--proxy', 'http://127.0.0.1:8080', 'http://not-allowed.example/'];
    const { code, stdout } = await runContainer(host, container('agent'), ask);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'domain.not-allowed' });
  });

  test('agent: there is no other way, and nothing of the gateway to be seen', async () => {
    const direct = ['curl', '--silent', '--max-time', '1', '--insecure', `https://${world4}/`];
    expect((await runContainer(host, container('agent'), direct)).code).not.toBe(0);
    expect(await network.arrived()).toEqual([]);
    const look = [
      'sh',
      '-c',
      'ls /var/lib/sallyport /run/credentials /memory /state 2>/dev/null; echo x >/etc/sallyport/ca.pem',
    ];
    const { code, stdout } = await runContainer(host, container('agent'), look);
    expect([code === 0, stdout]).toEqual([false, '']);
  });
});
