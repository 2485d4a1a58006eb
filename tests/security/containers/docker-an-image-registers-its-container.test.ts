// Must not happen: the author of an image decides by a LABEL in it what a container of that image may do at the door.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../../support/witness-ground.ts';

let world: WitnessWorld;
let gateway: WitnessedGateway;

/** A container of this image, on the sandbox network. Returns its address there. */
async function start(name: string, image: string, ...labels: string[]): Promise<string> {
  const set = labels.flatMap((label) => ['--label', `sallyport.${label}`]);
  const place = ['--network', sandboxNetwork, '--name', name];
  await world.must('run', '--detach', '--init=false', ...place, ...set, image, 'sleep', '600');
  return address(name);
}

const address = (name: string): Promise<string> =>
  world.must('inspect', '--format', `{{.NetworkSettings.Networks.${sandboxNetwork}.IPAddress}}`, name);

async function image(name: string, ...labels: string[]): Promise<void> {
  const changes = labels.map((label) => `LABEL ${label}`);
  await world.importImage(name, { programs: ['sleep'] }, changes);
}

/** The line of the log that says why this container was refused. */
const refused = (name: string): Promise<string> =>
  eventually(
    () => gateway.log.find((line) => line.includes('not registered by its labels') && line.includes(`"${name}"`)),
    `${name} is refused`,
  );

const registered = (id: string) => eventually(() => gateway.registry.find(id), `${id} is registered`);

beforeAll(async () => {
  world = await startWitnessWorld();
  await image('generous', 'sallyport.repos=owner/all');
  await image('reaching', 'sallyport.credentials=github', 'other=thing');
  gateway = await startWitness({ socket: world.socket, network: sandboxNetwork, registerLabelled: true });
});

afterAll(async () => {
  await gateway?.stop();
  await world?.stop();
});

beforeEach(() => {
  gateway.log.length = 0;
});

describe('labels of an image register nothing', () => {
  test('not a container that its operator gave none', async () => {
    const at = await start('none', 'generous');
    const line = await refused('none');
    expect(line).toContain('sallyport.repos');
    expect(line).toContain('image');
    expect(gateway.registry.find('none')).toBeNull();
    expect(await gateway.call(at)).toBe('sandbox.unknown');
  });

  test('nor beside labels that the operator set', async () => {
    const at = await start('beside', 'reaching', 'repos=owner/a');
    expect(await refused('beside')).toContain('sallyport.credentials');
    expect(await gateway.call(at)).toBe('sandbox.unknown');
  });

  test('what the operator sets to another value counts', async () => {
    const at = await start('own', 'generous', 'repos=owner/a');
    expect(await registered('own')).toMatchObject({ repos: ['owner/a'] });
    expect(await gateway.call(at)).toBe('own');
    await start('less', 'reaching', 'repos=owner/a', 'credentials=');
    expect(await registered('less')).toMatchObject({ repos: ['owner/a'], credentials: [] });
  });

  test('the image is the one that it was made of, whatever has its name now', async () => {
    await image('moving', 'sallyport.repos=owner/all');
    await world.must('create', '--network', sandboxNetwork, '--name', 'old', 'moving', 'sleep', '600');
    await image('moving');
    await start('new', 'moving', 'repos=owner/all');
    await image('moving', 'sallyport.repos=owner/all');
    await world.must('start', 'old');
    expect(await refused('old')).toContain('sallyport.repos');
    await registered('new');
    await world.must('restart', '--time', '0', 'new');
    await eventually(async () => (await gateway.call(await address('new'))) === 'new', 'it is registered again');
    expect(gateway.registry.find('old')).toBeNull();
  });

  test('an image that cannot be looked at any more speaks for nobody', async () => {
    await image('fleeting', 'sallyport.repos=owner/all');
    await world.must('create', '--network', sandboxNetwork, '--name', 'orphan', 'fleeting', 'sleep', '600');
    await world.must('rmi', '--force', 'fleeting');
    await world.must('start', 'orphan');
    expect(await refused('orphan')).toContain('cannot be looked at');
    expect(await gateway.call(await address('orphan'))).toBe('sandbox.unknown');
  });
});
