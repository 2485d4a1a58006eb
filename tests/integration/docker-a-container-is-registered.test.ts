import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { ClientRun, StartedClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';
import { sandboxNetwork, startWitnessWorld, type WitnessWorld } from '../support/witness-ground.ts';

const door = '172.30.5.1:8080';
const address = '172.30.5.60';
let world: WitnessWorld;
let command: BuiltCommand;
let viewSocket: string;

/** `sallyport …` where the sandboxes' network is; it ends with the world at the latest. */
function start(...args: string[]): StartedClient {
  const env = { SALLYPORT_HOME: join(command.home, 'state'), SALLYPORT_CONFIG: join(command.home, 'sallyport.yaml') };
  const main = join(command.home, 'package', 'dist', 'main.cjs');
  return world.start(process.execPath, [main, ...args], { env: { ...env, HOME: command.home } });
}

async function startGateway(): Promise<StartedClient> {
  const gateway = start('up', '--json');
  await gateway.stdout.until(`proxy http://${door}`);
  return gateway;
}

async function startView(): Promise<StartedClient> {
  const view = start('docker-view', '--listen', viewSocket, '--docker', world.socket);
  await eventually(
    async () => (await world.run('curl', ['-sS', '--unix-socket', viewSocket, 'http://d/_ping'])).stdout === 'OK',
    'the view answers',
  );
  return view;
}

/** What the gateway answers a container that asks for a host that nobody may reach. */
async function answerTo(container: string, proxyUser = ''): Promise<string> {
  const asked = ['-sS', '--max-time', '40', '-x', `http://${proxyUser}${door}`, 'http://nowhere.example/'];
  const { stdout, stderr }: ClientRun = await world.docker('exec', container, 'curl', ...asked);
  return (JSON.parse(stdout || JSON.stringify({ code: stderr })) as { code: string }).code;
}

beforeAll(async () => {
  world = await startWitnessWorld();
  await world.importImage('waits', { programs: ['sleep', 'curl'] });
  viewSocket = join(world.folder, 'view.sock');
  command = buildCommand({
    listen: { proxy: door },
    allow: [{ host: 'api.example.com' }],
    docker: { socket: viewSocket, network: sandboxNetwork },
  });
  await world.runContainer('agent', '--network', sandboxNetwork, '--ip', address);
  await world.runContainer('other', '--network', sandboxNetwork);
});

afterAll(async () => {
  await world?.stop();
  command?.remove();
});

describe('a container on a network, known to a gateway that sees Docker through the view', () => {
  test('is let in by its name, alone, through restarts, and no longer than it lives', async () => {
    let view = await startView();
    let gateway = await startGateway();
    expect(await answerTo('agent')).toBe('sandbox.unknown');

    const { stdout, stderr } = await command.run([
      'register',
      '--id',
      'agent',
      '--container',
      'agent',
      '--repo',
      'o/r',
    ]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/container +agent\n +network +sandboxes\n +address +172\.30\.5\.60\n/);
    expect(await answerTo('agent')).toBe('domain.not-allowed');
    expect(await answerTo('other')).toBe('sandbox.unknown');
    expect((await command.run(['list'])).stdout).toMatch(/^agent +agent +172\.30\.5\.60 +ip /m);

    gateway.kill();
    await gateway.ended;
    gateway = await startGateway();
    expect(await answerTo('agent')).toBe('domain.not-allowed');

    view.kill();
    await view.ended;
    await eventually(async () => (await answerTo('agent')) === 'sandbox.unconfirmed', 'the silence is noticed');
    expect(await answerTo('other')).toBe('sandbox.unknown');
    view = await startView();
    await eventually(async () => (await answerTo('agent')) === 'domain.not-allowed', 'Docker is heard again');

    await world.must('rm', '--force', 'agent');
    await world.runContainer('next', '--network', sandboxNetwork, '--ip', address);
    expect(await answerTo('next')).toBe('sandbox.unknown');
    expect((await command.run(['list', '--json'])).stdout).toBe('[]\n');
  });

  test('a secret that was taken from it is worth nothing in a second container, because its address is a proof too', async () => {
    const secretOf = async (...args: string[]): Promise<string> => {
      const { stdout } = await command.run(['register', '--json', ...args]);
      const { id, grant } = JSON.parse(stdout) as { id: string; grant: { secret: string } };
      return `${id}:${grant.secret}@`;
    };
    const stolen = await secretOf('--id', 'other', '--container', 'other', '--proof', 'ip', '--proof', 'secret');
    expect(await answerTo('other', stolen)).toBe('domain.not-allowed');
    expect(await answerTo('other')).toBe('sandbox.proof-missing');
    expect(await answerTo('next', stolen)).toBe('sandbox.unknown');

    // Without the address, the same theft succeeds.
    await command.run(['unregister', 'other']);
    const loose = await secretOf('--id', 'other', '--container', 'other', '--proof', 'secret');
    expect(await answerTo('next', loose)).toBe('domain.not-allowed');
  });
});
