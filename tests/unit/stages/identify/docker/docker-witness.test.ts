import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../support/eventually.ts';
import { MemoryBackup } from '../../../../support/memory-registry.ts';
import { PretendDocker } from '../../../../support/pretend-docker.ts';
import { startWitness, type WitnessedGateway } from '../../../../support/witness-ground.ts';

const address = '172.30.0.5';

let folder: string;
let docker: PretendDocker;
let gateway: WitnessedGateway;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-witness-'));
  const socket = join(folder, 'docker.sock');
  docker = new PretendDocker(socket, address);
  gateway = await startWitness({ socket });
  await gateway.register({ id: 'agent', container_id: 'agent' });
  expect(await gateway.call(address)).toBe('agent');
});

afterEach(async () => {
  await gateway.stop();
  docker.close();
  rmSync(folder, { recursive: true });
});

describe('a container that has a second network', () => {
  test('is registered, and the log names what it reaches past the door', async () => {
    expect(gateway.log.join('')).not.toContain('past the door');
    await gateway.registry.remove('agent');
    docker.otherNetworks = { wide: { NetworkID: 'w', IPAddress: '', GlobalIPv6Address: '', MacAddress: '' } };
    await gateway.register({ id: 'agent', container_id: 'agent', network: 'net' });
    const warned = gateway.log.find((line) => line.includes('past the door'));
    expect(JSON.parse(warned ?? '{}')).toMatchObject({ level: 'warn', container: 'agent', networks: 'wide' });
  });
});

describe('a container of another gateway', () => {
  test('is not asked about: the Docker of this machine knows nothing of it', async () => {
    const backup = new MemoryBackup();
    const record = gateway.registry.find('agent')!;
    const there = { ...record.toStored(), id: 'there', container_id: 'cd'.repeat(32), container_ip: '172.30.0.9' };
    const { expiresAtMs } = record;
    await backup.add({ id: 'there', claims: [], expiresAtMs, body: JSON.stringify({ ...there, gateway: 'other' }) });
    const other = await startWitness({ socket: join(folder, 'docker.sock') }, backup);
    await other.register({ id: 'agent', container_id: 'agent' });
    docker.breakOff();
    await eventually(async () => (await other.call(address)) === 'agent', 'Docker is heard again');
    expect(other.registry.list().map(({ id }) => id)).toEqual(['there', 'agent']);
    await other.stop();
  });
});

describe('what is heard of a container', () => {
  test.each(['die', 'pause', 'destroy'])(
    '%s ends its registration at once, without another question',
    async (action) => {
      const asked = docker.inspections;
      docker.say(action, Date.now() + 1000);
      await eventually(() => gateway.registry.size === 0, 'it is gone');
      expect(docker.inspections).toBe(asked);
    },
  );

  test('what happened before Docker was last asked is asked about, not believed', async () => {
    const asked = docker.inspections;
    docker.say('die', Date.now() - 60_000);
    await eventually(() => docker.inspections > asked, 'Docker is asked');
    expect(await gateway.call(address)).toBe('agent');
  });

  test('a start of which the end was not heard is noticed', async () => {
    docker.startedAt = '2026-01-02T00:00:00Z';
    docker.say('start');
    await eventually(() => gateway.registry.size === 0, 'it is gone');
  });
});

describe('a broken stream of events', () => {
  test('leaves nothing confirmed by an answer from before', async () => {
    let release = (): void => {};
    docker.hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = docker.inspections;
    docker.say('rename');
    await eventually(() => docker.inspections > asked, 'a question is under way');
    docker.breakOff();
    const record = gateway.registry.find('agent')!;
    await eventually(() => !record.confirmed, 'it is unconfirmed');
    // The container changes, unheard, and only then the old answer arrives.
    docker.startedAt = '2026-01-02T00:00:00Z';
    release();
    docker.hold = null;
    let believed = false;
    await eventually(() => {
      believed ||= record.confirmed;
      return gateway.registry.size === 0;
    }, 'the change is found out');
    expect(believed).toBe(false);
  });

  test('is no reason to ask about a container twice at the same time', async () => {
    docker.breakOff();
    await eventually(() => gateway.registry.find('agent')?.confirmed === false, 'it is unconfirmed');
    const asked = docker.inspections;
    expect(await Promise.all(Array.from({ length: 20 }, () => gateway.call(address)))).toEqual(Array(20).fill('agent'));
    expect(docker.inspections - asked).toBeLessThan(4);
  });
});

describe('a question that Docker could not answer', () => {
  test('is put again by itself: who comes by certificate has no address to be asked about', async () => {
    const record = gateway.registry.find('agent')!;
    docker.fault = 500;
    docker.say('rename');
    await eventually(() => !record.confirmed, 'it is unconfirmed');
    expect(gateway.docker.status().detail).toBe('0 of 1 container confirmed by Docker');
    docker.fault = null;
    await eventually(() => record.confirmed, 'it is confirmed again');
  });
});

describe('a container that is registered while Docker falls silent', () => {
  test('is not believed, though Docker has said all that a registration needs', async () => {
    await gateway.registry.remove('agent');
    let release = (): void => {};
    docker.hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = docker.inspections;
    const registering = gateway.register({ id: 'again', container_id: 'agent', proof: ['secret'] });
    await eventually(() => docker.inspections > asked, 'the question is under way');
    docker.deaf = true;
    docker.breakOff();
    await eventually(() => gateway.log.some((line) => line.includes('not heard')), 'the silence is noticed');
    release();
    await registering;
    expect(gateway.registry.find('again')!.confirmed).toBe(false);
  });
});

describe('another Docker socket in the policy', () => {
  test('has the word alone: what the one before still answers ends nothing', async () => {
    let release = (): void => {};
    docker.hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = docker.inspections;
    docker.say('rename');
    await eventually(() => docker.inspections > asked, 'a question is under way');
    const other = new PretendDocker(join(folder, 'other.sock'), address);
    gateway.configure({ socket: join(folder, 'other.sock') });
    docker.fault = 404;
    release();
    await eventually(() => gateway.registry.find('agent')?.confirmed !== false, 'it has its answer');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await gateway.call(address)).toBe('agent');
    other.close();
  });

  test('is asked about every container before it is served again', async () => {
    const elsewhere = join(folder, 'other.sock');
    gateway.configure({ socket: elsewhere });
    expect(await gateway.call(address)).toBe('sandbox.unconfirmed');
    const other = new PretendDocker(elsewhere, address);
    await eventually(async () => (await gateway.call(address)) === 'agent', 'the other one has confirmed it');
    expect(other.inspections).toBeGreaterThan(0);
    gateway.configure({ socket: join(folder, 'docker.sock') });
    other.close();
  });
});
