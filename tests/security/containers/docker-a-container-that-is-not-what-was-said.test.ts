import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../../support/witness-ground.ts';

let world: WitnessWorld;
let agent: string;
let gateway: WitnessedGateway;
const onNetwork = ['--network', sandboxNetwork];

beforeAll(async () => {
  world = await startWitnessWorld();
  agent = await world.runContainer('agent', ...onNetwork, '--ip', '172.30.5.10', '--ip6', 'fd00:5::10');
  await world.runContainer('other', ...onNetwork, '--ip', '172.30.5.11');
});

afterAll(() => world?.stop());

beforeEach(async () => {
  gateway = await startWitness({ socket: world.socket });
});

afterEach(() => gateway.stop());

describe('a registration by container says what Docker says, or is refused', () => {
  test.each(['agent', 'by the beginning of its id', 'by its id'])('%s is found and filled in', async (by) => {
    const reference = by === 'agent' ? by : by === 'by its id' ? agent : agent.slice(0, 12);
    const record = await gateway.register({ id: 'one', container_id: reference, repos: ['o/r'] });
    expect(record).toMatchObject({
      container_id: agent,
      container_ip: '172.30.5.10',
      proof: ['ip'],
      container: { name: 'agent', network: sandboxNetwork, mac: '02:42:ac:1e:05:0a' },
    });
    expect(await gateway.call('172.30.5.10')).toBe('one');
  });

  test("another container's address is not taken for its own", async () => {
    const asking = gateway.register({ container_id: 'agent', container_ip: '172.30.5.11' });
    await expect(asking).rejects.toMatchObject({
      status: 409,
      code: 'container.refused',
      message: expect.stringContaining('on sandboxes Docker gave it 172.30.5.10 and fd00:5::10') as string,
    });
    expect(await gateway.call('172.30.5.11')).toBe('sandbox.unknown');
  });

  test('its IPv6 address is its own, in any spelling', async () => {
    const record = await gateway.register({ id: 'six', container_id: 'agent', container_ip: 'FD00:5:0::0010' });
    expect(record.container_ip).toBe('fd00:5::10');
    expect(await gateway.call('fd00:5::10')).toBe('six');
  });

  test.each([
    { container_id: 'agent' },
    { container_id: 'agent', container_ip: 'fd00:5::10' },
    { container_id: 'agent', proof: ['secret'] },
    { container_ip: '172.30.5.10' },
  ])('no second registration of it: %j', async (second) => {
    await gateway.register({ id: 'first', container_id: 'agent' });
    await expect(gateway.register({ id: 'second', ...second })).rejects.toMatchObject({ code: 'sandbox.conflict' });
    expect(await gateway.call('172.30.5.10')).toBe('first');
    expect(gateway.registry.size).toBe(1);
  });

  test.each([
    ['hosted', ['--network', 'host'], 'has the network of its host'],
    ['borrower', ['--network', 'container:agent'], 'shares the network of another container'],
  ])('%s, which has no network of its own, is refused', async (name, options, reason) => {
    await world.runContainer(name, ...options);
    await expect(gateway.register({ container_id: name })).rejects.toThrow(reason);
    await world.must('rm', '--force', name);
  });

  test('one that has ended, is paused or does not exist is refused', async () => {
    await world.runContainer('brief', ...onNetwork);
    await world.must('pause', 'brief');
    await expect(gateway.register({ container_id: 'brief' })).rejects.toThrow('the container brief is paused');
    await world.must('unpause', 'brief');
    await world.must('kill', 'brief');
    await expect(gateway.register({ container_id: 'brief' })).rejects.toThrow('the container brief is not running');
    await world.must('rm', 'brief');
    await expect(gateway.register({ container_id: 'brief' })).rejects.toThrow('Docker has no container brief');
    expect(gateway.registry.size).toBe(0);
  });

  test('on a network that it is not on, or on one of several that nobody named, it is refused', async () => {
    await world.must('network', 'create', '--internal', 'elsewhere');
    await expect(gateway.register({ container_id: 'other', network: 'elsewhere' })).rejects.toThrow(
      'other is not on the network elsewhere (it is on sandboxes)',
    );
    await world.must('network', 'connect', 'elsewhere', 'other');
    await expect(gateway.register({ container_id: 'other' })).rejects.toThrow('is on 2 networks');
    const record = await gateway.register({ container_id: 'other', network: sandboxNetwork });
    expect(record.container_ip).toBe('172.30.5.11');
    await world.must('network', 'disconnect', 'elsewhere', 'other');
    expect(await gateway.call('172.30.5.11')).toBe(record.id);
  });

  test('one without a network has its door in its namespace, and no address', async () => {
    await world.runContainer('alone', '--network', 'none');
    const pid = Number(await world.must('inspect', '--format', '{{.State.Pid}}', 'alone'));
    await expect(gateway.register({ container_id: 'alone', container_ip: '172.30.5.10' })).rejects.toThrow(
      'no address',
    );
    await expect(gateway.register({ container_id: 'alone', proof: ['secret'] })).rejects.toThrow('["socket"]');
    await expect(gateway.register({ container_id: 'alone', namespace: { pid: pid + 1 } })).rejects.toThrow(
      'first process',
    );
    const record = await gateway.register({ container_id: 'alone' });
    expect(record).toMatchObject({ container_ip: null, proof: ['socket'], namespace: { pid } });
    await world.must('rm', '--force', 'alone');
  });
});
