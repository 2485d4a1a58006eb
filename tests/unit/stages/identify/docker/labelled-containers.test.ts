import { afterEach, describe, expect, test } from 'vitest';
import type { DockerApi } from '../../../../../src/kit/docker/docker-api.ts';
import { DockerError } from '../../../../../src/kit/docker/docker-error.ts';
import { createLog } from '../../../../../src/kit/text/log.ts';
import { LabelledContainers } from '../../../../../src/stages/identify/docker/labelled-containers.ts';
import type { RegistrationRequest } from '../../../../../src/stages/identify/registry/registration.ts';
import type { SandboxRegistry } from '../../../../../src/stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../../../../../src/stages/identify/registry/sandbox-record.ts';
import { eventually } from '../../../../support/eventually.ts';
import { MemoryBackup, openTestRegistry, TestClock } from '../../../../support/memory-registry.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** What Docker has, by id. */
const running = new Map<string, { name: string; startedAt: string; labels: Record<string, string> }>();

function run(name: string, labels: Record<string, string> = { 'sallyport.repos': 'owner/a' }): string {
  const id = Buffer.from(name).toString('hex').padEnd(64, '0');
  running.set(id, { name, startedAt: '2026-01-01T00:00:00Z', labels });
  return id;
}

const api = {
  async inspectContainer(id: string) {
    const found = running.get(id);
    if (found === undefined) throw new DockerError('unknown', 'no such container', '');
    return {
      Id: id,
      Name: `/${found.name}`,
      State: { Running: true, Paused: false, Restarting: false, Pid: 7, StartedAt: found.startedAt },
      HostConfig: { NetworkMode: 'net' },
      Image: `sha256:${id}`,
      Config: { Labels: found.labels, Image: 'image' },
      NetworkSettings: { Networks: {} },
    };
  },
  async inspectImage() {
    return { Os: 'linux', Architecture: 'amd64', Variant: '', Config: { Labels: {} } };
  },
  async listContainers() {
    return [...running].map(([Id, { name, labels }]) => ({ Id, Names: [name], Labels: labels }));
  },
} as unknown as DockerApi;

async function witness(asked: RegistrationRequest): Promise<RegistrationRequest> {
  const { name, startedAt } = running.get(asked.containerId!)!;
  return {
    ...asked,
    containerIp: `172.30.0.${[...running.keys()].indexOf(asked.containerId!) + 2}`,
    container: { name, network: 'net', mac: null, pid: 7, startedAt },
  };
}

interface Ground {
  readonly registry: SandboxRegistry;
  readonly labels: LabelledContainers;
  readonly warnings: string[];
  /** As the witness ends it. */
  end(id: string): Promise<void>;
}

const grounds: Ground[] = [];

afterEach(async () => {
  running.clear();
  for (const { registry } of grounds.splice(0)) registry.close();
});

async function start(backup = new MemoryBackup(), clock = new TestClock()): Promise<Ground> {
  const { registry } = await openTestRegistry({ backup, now: clock.now });
  registry.useWitness(witness);
  const warnings: string[] = [];
  const ended = new Set<SandboxRecord>();
  const labels = new LabelledContainers({
    api: () => api,
    registry,
    register: (input) => registry.register(input),
    isOn: () => true,
    hasEnded: (record) => ended.has(record),
    log: createLog({ level: 'warn', format: 'json', write: (line) => warnings.push(line) }),
  });
  registry.onRemoved((id) => labels.removed(id));
  const end = async (id: string): Promise<void> => {
    ended.add(registry.find(id)!);
    await registry.remove(id);
  };
  const ground = { registry, labels, warnings, end };
  grounds.push(ground);
  await labels.considerAll();
  return ground;
}

describe('a container that was registered by its labels before the gateway was started again', () => {
  test('stays unregistered when a person unregisters it', async () => {
    const id = run('agent');
    const backup = new MemoryBackup();
    await start(backup);
    const { registry, labels } = await start(backup);
    await registry.remove('agent');
    await labels.consider(id);
    expect(registry.find('agent')).toBeNull();
  });

  test('is registered again when it was quiet for a day', async () => {
    run('agent');
    const backup = new MemoryBackup();
    const clock = new TestClock();
    await start(backup, clock);
    const { registry } = await start(backup, clock);
    clock.advance(dayMs + 1);
    registry.sweep();
    await eventually(() => registry.find('agent'), 'it is registered again');
  });
});

describe('a container with labels that was refused', () => {
  test('is registered once the one before it, with the same id, has ended', async () => {
    const labels = { 'sallyport.id': 'worker' };
    const old = run('first', labels);
    const { registry, end, warnings } = await start();
    const next = run('second', labels);
    await grounds[0]!.labels.consider(next);
    expect(warnings.join()).toContain('the id worker is in use');
    running.delete(old);
    await end('worker');
    await eventually(() => registry.find('worker')?.containerId === next, 'the next one has the id');
  });

  test('is told of once, and forgotten with the container', async () => {
    const id = run('odd', { 'sallyport.repo': 'owner/a' });
    const { labels, warnings } = await start();
    await labels.consider(id);
    expect(warnings).toHaveLength(1);
    running.delete(id);
    await labels.consider(id);
    run('odd', { 'sallyport.repo': 'owner/a' });
    await labels.consider(id);
    expect(warnings).toHaveLength(2);
  });
});

test('an end that a person has set is not undone by a label', async () => {
  const clock = new TestClock();
  const { registry, labels } = await start(new MemoryBackup(), clock);
  const id = run('agent');
  const until = new Date(clock.nowMs + 1000).toISOString();
  await registry.register({ id: 'by-hand', container_id: id, expires_at: until });
  await labels.consider(id);
  clock.advance(1001);
  registry.sweep();
  await labels.consider(id);
  expect(registry.size).toBe(0);
});
