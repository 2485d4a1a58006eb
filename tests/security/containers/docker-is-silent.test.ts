import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { MemoryBackup } from '../../support/memory-registry.ts';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../../support/witness-ground.ts';

const address = '172.30.5.30';
let world: WitnessWorld;
const started: WitnessedGateway[] = [];

async function start(backup = new MemoryBackup()): Promise<WitnessedGateway> {
  const gateway = await startWitness({ socket: world.socket }, backup);
  started.push(gateway);
  return gateway;
}

beforeAll(async () => {
  world = await startWitnessWorld({ outlived: true });
  await world.runContainer('agent', '--network', sandboxNetwork, '--ip', address);
  await world.runContainer('other', '--network', sandboxNetwork);
});

afterAll(async () => {
  for (const gateway of started) await gateway.stop();
  await world?.stop();
});

describe('while Docker says nothing, no container is believed', () => {
  test('a registered container is not served, keeps its registration, and is served when Docker is back', async () => {
    const backup = new MemoryBackup();
    const gateway = await start(backup);
    await gateway.register({ id: 'agent', container_id: 'agent' });
    expect(await gateway.call(address)).toBe('agent');
    expect(gateway.docker.status()).toEqual({ live: true, detail: '1 container confirmed by Docker' });

    await world.stopDaemon();
    await eventually(() => gateway.registry.find('agent')?.confirmed === false, 'the silence is noticed');
    expect(await gateway.call(address)).toBe('sandbox.unconfirmed');
    expect(gateway.registry.find('agent')).not.toBeNull();
    expect(gateway.docker.status()).toMatchObject({ live: false });

    await expect(gateway.register({ container_id: 'other' })).rejects.toMatchObject({
      status: 503,
      code: 'docker.unavailable',
      hint: expect.stringContaining('Start Docker') as string,
    });
    expect(gateway.registry.size).toBe(1);

    // However often it calls, the log stays short.
    for (let i = 0; i < 50; i++) await gateway.call(address);
    expect(gateway.log.filter((line) => line.includes('"warn"')).length).toBeLessThan(4);

    // Nor does a gateway believe it that starts meanwhile.
    const next = await start(backup);
    expect(await next.call(address)).toBe('sandbox.unconfirmed');

    await world.startDaemon();
    for (const one of [gateway, next]) {
      await eventually(() => one.registry.find('agent')?.confirmed === true, 'Docker has confirmed it');
      expect(await one.call(address)).toBe('agent');
    }
  });

  test('a container that changed while nobody heard Docker is not served again', async () => {
    const gateway = await start();
    await gateway.register({ id: 'other', container_id: 'other' });
    const own = gateway.registry.find('other')!.containerIp!;
    expect(await gateway.call(own)).toBe('other');
    await world.stopDaemon();
    await eventually(() => gateway.registry.find('other')?.confirmed === false, 'the silence is noticed');
    process.kill(gateway.registry.find('other')!.container!.pid, 'SIGKILL');
    await world.startDaemon();
    await eventually(() => gateway.registry.size === 0, 'its end is found out');
    expect(await gateway.call(own)).toBe('sandbox.unknown');
  });
});

describe('a Docker that is not there', () => {
  test('is an error for every registration by container, whatever its proof, and no concern of any other', async () => {
    const gateway = await startWitness({ socket: `${world.folder}/nobody.sock` });
    started.push(gateway);
    for (const proof of [['ip'], ['secret'], ['socket'], undefined]) {
      const asked = { container_id: 'agent', container_ip: address, ...(proof && { proof }) };
      await expect(gateway.register(asked)).rejects.toMatchObject({ code: 'docker.unavailable' });
    }
    const { id } = await gateway.register({ container_ip: address });
    expect(await gateway.call(address)).toBe(id);
  });

  test('is not looked for while no sandbox is a container', async () => {
    const gateway = await startWitness({ socket: `${world.folder}/nobody.sock` });
    started.push(gateway);
    await gateway.register({ container_ip: address });
    expect(await gateway.call(address)).not.toBe('sandbox.unknown');
    expect(gateway.docker.status()).toEqual({ live: true, detail: 'not used: no sandbox is a container' });
    expect(gateway.log).toEqual([]);
  });
});
