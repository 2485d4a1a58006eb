import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../support/witness-ground.ts';

let world: WitnessWorld;
let gateway: WitnessedGateway;
const onNetwork = ['--network', sandboxNetwork];

const label = (...labels: string[]): string[] => labels.flatMap((one) => ['--label', `sallyport.${one}`]);
const registered = (id: string) => eventually(() => gateway.registry.find(id), `${id} is registered`);
const gone = (id: string) => eventually(() => gateway.registry.find(id) === null, `${id} is gone`);
const logged = (text: string) =>
  eventually(() => gateway.log.find((line) => line.includes(text)), `the log says ${text}`);

beforeAll(async () => {
  world = await startWitnessWorld();
  await world.runContainer('early', ...onNetwork, '--ip', '172.30.5.40', ...label('repos=owner/a, Owner/B.git'));
});

afterAll(() => world?.stop());

beforeEach(async () => {
  gateway = await startWitness({ socket: world.socket, network: sandboxNetwork, registerLabelled: true });
});

afterEach(() => gateway.stop());

describe('a container with labels is registered by itself, where the policy says so', () => {
  test('one that runs already, with its address and what its labels allow', async () => {
    const record = await registered('early');
    expect(record).toMatchObject({ containerIp: '172.30.5.40', repos: ['owner/a', 'owner/b'], authMode: 'bot' });
    expect(record).toMatchObject({ allowedBranches: ['sandbox/*'], credentials: null, proof: ['ip'] });
    expect(await gateway.call('172.30.5.40')).toBe('early');
  });

  test('one that starts, ends and starts again', async () => {
    const labels = label('id=worker', 'repos=', 'auth_mode=user', 'credentials=github', 'allowed_branches=a/*,b/*');
    await world.runContainer('Later', ...onNetwork, ...labels);
    const record = await registered('worker');
    expect(record).toMatchObject({
      repos: [],
      authMode: 'user',
      credentials: ['github'],
      allowedBranches: ['a/*', 'b/*'],
    });
    await world.must('restart', '--time', '0', 'Later');
    const again = await eventually(() => {
      const now = gateway.registry.find('worker');
      return now === record ? null : now;
    }, 'it is registered again');
    expect(await gateway.call(again.containerIp!)).toBe('worker');
    await world.must('pause', 'Later');
    await gone('worker');
    await world.must('unpause', 'Later');
    await registered('worker');
    await world.must('rm', '--force', 'Later');
    await gone('worker');
  });

  test.each([
    ['misspelt', 'repo=owner/a', 'sallyport.repo is not a label of Sallyport'],
    ['unheard-of', 'credentials=nobody', 'is not configured'],
    ['odd', 'auth_mode=admin', 'must be bot or user'],
  ])('a %s label registers nothing and is told', async (name, bad, reason) => {
    await world.runContainer(name, ...onNetwork, ...label('repos=owner/a', bad));
    const line = await logged(reason);
    expect(line).toContain(`"container":"${name}"`);
    expect(gateway.registry.list().map(({ container }) => container?.name)).not.toContain(name);
    await world.must('rm', '--force', name);
  });

  test('one on another network is told, and one without labels is left alone', async () => {
    await world.runContainer('far', ...label('repos=owner/a'));
    await logged('far is not on the network sandboxes');
    await world.runContainer('plain', ...onNetwork);
    const address = await world.must(
      'inspect',
      '--format',
      '{{.NetworkSettings.Networks.sandboxes.IPAddress}}',
      'plain',
    );
    await registered('early');
    expect(await gateway.call(address)).toBe('sandbox.unknown');
    await world.must('rm', '--force', 'far', 'plain');
  });

  test('what a person unregisters stays unregistered, until the container starts anew', async () => {
    await registered('early');
    await gateway.registry.remove('early');
    await world.must('kill', '--signal', 'CONT', 'early');
    await world.must('rename', 'early', 'early2');
    await world.must('rename', 'early2', 'early');
    await world.must('version');
    expect(gateway.registry.find('early')).toBeNull();
    await world.must('restart', '--time', '0', 'early');
    await registered('early');
  });

  test('switched on by a change of the policy, and only then', async () => {
    await gateway.stop();
    gateway = await startWitness({ socket: world.socket, network: sandboxNetwork });
    expect(gateway.docker.status().detail).toContain('not used');
    await world.runContainer('mark', ...onNetwork);
    await gateway.register({ id: 'mark', container_id: 'mark' });
    await world.must('restart', '--time', '0', 'early');
    await world.must('rm', '--force', 'mark');
    await gone('mark');
    // Whatever was heard before that has been looked at.
    await world.must('version');
    expect(gateway.registry.size).toBe(0);
    gateway.configure({ registerLabelled: true });
    await registered('early');
    expect(gateway.docker.status().detail).toContain('labels register');
  });
});
