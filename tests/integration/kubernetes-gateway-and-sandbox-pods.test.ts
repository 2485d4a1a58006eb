import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../src/gateway/admin/admin-ports.ts';
import { eventually } from '../support/eventually.ts';
import { type Container, containerOf, podOf, readManifests, type Variant } from '../support/kubernetes-manifests.ts';
import { layVolumes, type PodHost, runContainer, startContainer } from '../support/pod-container.ts';
import { makePodGround, type PodGround } from '../support/pod-ground.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

// The pods of deploy/kubernetes/gateway and deploy/kubernetes/sandbox, container after container as their manifests have them.
// Both are in one pretend network: what a NetworkPolicy would keep apart is not what is tried here.
let command: BuiltCommand;
let network: PodGround;
let folder: string;
const running: ChildProcess[] = [];

beforeAll(async () => {
  command = buildCommand({});
  chmodSync(command.home, 0o755);
  network = await makePodGround();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-pods-'));
  chmodSync(folder, 0o755);
  for (const variant of ['gateway', 'sandbox']) mkdirSync(join(folder, variant));
  const secrets = { 'sallyport-credentials': { github: 'ghp_pretend' } };
  layVolumes(hostOf('gateway'), podOf('gateway'), readManifests('gateway'), secrets);
  expect((await runContainer(hostOf('gateway'), inGateway('prepare'))).code).toBe(0);
});

afterAll(async () => {
  for (const child of running.reverse()) {
    if (child.exitCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
  await network.end();
  command.remove();
  rmSync(folder, { recursive: true, force: true });
});

const hostOf = (variant: Variant): PodHost => ({
  folder: join(folder, variant),
  built: join(command.home, 'package'),
  enter: network.enter,
});

/** The user of the gateway is said for the whole pod there. */
const inGateway = (name: string): Container => {
  const container = containerOf('gateway', name);
  return { ...container, securityContext: { ...podOf('gateway').securityContext, ...container.securityContext } };
};

const inSandbox = (name: string): Container => {
  const container = containerOf('sandbox', name);
  const args = (container.args ?? []).map((word) => word.replace('$(SALLYPORT_GATEWAY)', '192.0.2.2'));
  return { ...container, args };
};

async function start(host: PodHost, container: Container, ready: readonly string[]): Promise<void> {
  const child = startContainer(host, container);
  running.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream!.on('data', (chunk: Buffer) => {
      said += chunk;
    });
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(said);
    return (await runContainer(host, container, ready)).code === 0;
  }, `${container.name} is ready`);
}

describe('one gateway for many, without a cluster', () => {
  test('the gateway starts with these volumes and is healthy', async () => {
    await start(hostOf('gateway'), inGateway('gateway'), ['healthcheck']);
  });

  test('a sandbox is registered, and its key becomes a file that only the shim can read', async () => {
    const register = ['sallyport', 'register', '--json', '--id', 'agent', '--proof', 'mtls'];
    const { code, stdout, stderr } = await runContainer(hostOf('gateway'), inGateway('gateway'), register);
    expect([code, stderr]).toEqual([0, '']);
    const { certificate, key, ca } = (JSON.parse(stdout) as { grant: Grant }).grant.identity!;
    const secret = { 'certificate.pem': certificate, 'key.pem': key, 'ca.pem': ca };
    layVolumes(hostOf('sandbox'), podOf('sandbox'), readManifests('sandbox'), { 'agent-identity': secret });
    const run = await runContainer(hostOf('sandbox'), inSandbox('identity'));
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(statSync(join(folder, 'sandbox/memory/own/key.pem'))).toMatchObject({ uid: 10003, mode: 0o100600 });
    expect(statSync(join(folder, 'sandbox/memory/own'))).toMatchObject({ uid: 10003, mode: 0o40700 });
  });

  test('the agent comes through its shim to the door, which knows it; another user does not', async () => {
    const shim = inSandbox('shim');
    const { exec } = shim.startupProbe!;
    await start(hostOf('sandbox'), shim, exec.command);
    const ask = ['curl', '--silent', '--show-error', '--proxy', 'http://127.0.0.1:3128', 'http://not-allowed.example/'];
    const agent = await runContainer(hostOf('sandbox'), inSandbox('agent'), ask);
    expect(JSON.parse(agent.stdout)).toMatchObject({ code: 'domain.not-allowed' });
    const other = { ...inSandbox('agent'), securityContext: { runAsUser: 10004 } };
    expect((await runContainer(hostOf('sandbox'), other, ask)).stdout).not.toContain('domain.not-allowed');
  });

  test('without the shim the agent has a door in reach and nothing to show there', async () => {
    const direct = ['curl', '--silent', '--max-time', '2', '--insecure', '--proxy-insecure'];
    const ask = [...direct, '--proxy', 'https://192.0.2.2:8443', 'http://not-allowed.example/'];
    const run = await runContainer(hostOf('sandbox'), inSandbox('agent'), ask);
    expect([run.code === 0, run.stdout]).toEqual([false, '']);
    const look = ['sh', '-c', 'cat /run/identity/key.pem /memory/own/key.pem /identity/key.pem 2>/dev/null'];
    expect((await runContainer(hostOf('sandbox'), inSandbox('agent'), look)).stdout).toBe('');
  });
});
