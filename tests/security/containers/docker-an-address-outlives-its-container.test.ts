import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { MemoryBackup } from '../../support/memory-registry.ts';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../../support/witness-ground.ts';

const address = '172.30.5.20';
let world: WitnessWorld;
let gateway: WitnessedGateway;
let backup: MemoryBackup;

const begin = (name: string): Promise<string> => world.runContainer(name, '--network', sandboxNetwork, '--ip', address);
const gone = (): Promise<boolean> => eventually(() => gateway.registry.size === 0, 'the registration is gone');

beforeAll(async () => {
  world = await startWitnessWorld();
});

afterAll(() => world?.stop());

beforeEach(async () => {
  backup = new MemoryBackup();
  gateway = await startWitness({ socket: world.socket }, backup);
  await begin('agent');
  await gateway.register({ id: 'agent', container_id: 'agent' });
  expect(await gateway.call(address)).toBe('agent');
});

afterEach(async () => {
  await gateway.stop();
  await world.docker('rm', '--force', 'agent', 'next');
});

describe('a registration ends with what its container was', () => {
  test('another container that is given the address of a dead one is unknown', async () => {
    const removed: string[] = [];
    gateway.registry.onRemoved((id) => removed.push(id));
    await world.must('kill', 'agent');
    await gone();
    await begin('next');
    expect(await gateway.call(address)).toBe('sandbox.unknown');
    expect(removed).toEqual(['agent']);
    expect(backup.sandboxes).toEqual([]);
  });

  test('so is the same container after a restart, until it is registered again', async () => {
    await world.must('restart', '--time', '0', 'agent');
    await gone();
    expect(await gateway.call(address)).toBe('sandbox.unknown');
    await gateway.register({ id: 'again', container_id: 'agent' });
    expect(await gateway.call(address)).toBe('again');
  });

  test('a pause ends it, however short', async () => {
    await world.must('pause', 'agent');
    await world.must('unpause', 'agent');
    await gone();
    expect(await gateway.call(address)).toBe('sandbox.unknown');
  });

  test('leaving its network ends it, and coming back with another address does not bring it back', async () => {
    await world.must('network', 'disconnect', sandboxNetwork, 'agent');
    await gone();
    await world.must('network', 'connect', '--ip', '172.30.5.21', sandboxNetwork, 'agent');
    expect(await gateway.call(address)).toBe('sandbox.unknown');
    expect(await gateway.call('172.30.5.21')).toBe('sandbox.unknown');
  });

  test('a signal, another name or a network more change nothing', async () => {
    await world.must('kill', '--signal', 'CONT', 'agent');
    await world.must('rename', 'agent', 'next');
    await eventually(() => gateway.registry.find('agent')?.container?.name === 'next', 'the new name is known');
    expect(await gateway.call(address)).toBe('agent');
  });

  test('what changed while no gateway ran is found out on first traffic', async () => {
    await gateway.stop();
    await world.must('rm', '--force', 'agent');
    await begin('next');
    expect(backup.sandboxes.map(({ id }) => id)).toEqual(['agent']);
    gateway = await startWitness({ socket: world.socket }, backup);
    expect(gateway.registry.find('agent')?.confirmed).toBe(false);
    expect(await gateway.call(address)).toBe('sandbox.unknown');
    expect(gateway.registry.size).toBe(0);
  });

  test('a container that is what it was is served again by the next gateway', async () => {
    await gateway.stop();
    gateway = await startWitness({ socket: world.socket }, backup);
    expect(gateway.registry.find('agent')?.confirmed).toBe(false);
    expect(await gateway.call(address)).toBe('agent');
  });
});

describe('first traffic is a question to Docker', () => {
  test('a container that left between registration and first traffic is not served, also if nobody told', async () => {
    await gateway.registry.remove('agent');
    await gateway.register({ id: 'second', container_id: 'agent' });
    const record = gateway.registry.find('second')!;
    // Whatever was asked for the registration itself is answered before this is.
    await world.must('version');
    // As if the facts had changed without an event.
    record.container = { ...record.container!, startedAt: '2020-01-01T00:00:00Z' };
    expect(await gateway.call(address)).toBe('sandbox.unknown');
  });
});
