import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DockerWorld, startDockerWorld } from '../support/docker-world.ts';
import { makeUninstallGround, type UninstallGround } from '../support/uninstall-ground.ts';

/** As a launcher names them. */
const leftover = 'sallyport-0123456789abcdef';
const ours = ['--label', 'sallyport-managed=true'];
/** What Compose puts on everything of a clone in a folder of our name, and of any project in one: also on what is not ours. */
const theirs = ['--label', 'com.docker.compose.project=sallyport'];

let world: DockerWorld;
let ground: UninstallGround;

beforeAll(async () => {
  world = await startDockerWorld();
  ground = makeUninstallGround();
  rmSync(join(ground.programs, 'docker'));
  await world.importImage('sallyport-gateway', { programs: ['sleep'] }, ['LABEL sallyport-managed=true']);
  // Built on one of ours: it has the label too.
  await world.docker('tag', 'sallyport-gateway', 'built-on-ours');
  await world.importImage('theirs', { programs: ['sleep'] });
  for (const [kind, ...words] of [
    ['network', 'create', '--internal', ...ours, 'our-network'],
    ['network', 'create', '--internal', ...theirs, 'their-network'],
    ['volume', 'create', ...ours, 'our-volume'],
    ['volume', 'create', ...theirs, 'their-volume'],
    [
      'run',
      '--detach',
      '--name',
      'ours',
      ...ours,
      '--network',
      'our-network',
      '-v',
      'our-volume:/v',
      'theirs',
      'sleep',
      '60',
    ],
    [
      'run',
      '--detach',
      '--name',
      'theirs',
      ...theirs,
      '--network',
      'none',
      '-v',
      'their-volume:/v',
      'theirs',
      'sleep',
      '60',
    ],
    // Of a launcher of another boot of this machine, and of one that may be alive in another pid namespace.
    [
      'run',
      '--detach',
      '--name',
      leftover,
      '--label',
      'sallyport.launcher=an-old-boot/1/2/3',
      '--network',
      'none',
      'theirs',
      'sleep',
      '60',
    ],
    [
      'run',
      '--detach',
      '--name',
      'living',
      '--label',
      'sallyport.launcher=unreadable',
      '--network',
      'none',
      'theirs',
      'sleep',
      '60',
    ],
  ]) {
    const run = await world.docker(kind!, ...words);
    expect([run.code, run.stderr.replace(/^WARNING.*\n/gm, '')]).toEqual([0, '']);
  }
});

afterAll(async () => {
  await world.stop();
  ground.remove();
});

async function everything(): Promise<string[]> {
  const lists = [
    ['ps', '--all', '--format', 'container {{.Names}}'],
    ['network', 'ls', '--filter', 'type=custom', '--format', 'network {{.Name}}'],
    ['volume', 'ls', '--format', 'volume {{.Name}}'],
    ['image', 'ls', '--format', 'image {{.Repository}}'],
  ];
  const found = await Promise.all(lists.map(async (words) => (await world.docker(...words)).stdout.split('\n')));
  return found
    .flat()
    .filter((line) => line !== '')
    .sort();
}

test('Docker is left alone unless it is asked for, and that is said', async () => {
  const before = await everything();
  const { out } = await ground.uninstall(['--yes'], { env: { ...world.environment, PATH: ground.env.PATH! } });
  expect(out).toContain('Docker was not looked at');
  expect(await everything()).toEqual(before);
});

test('--docker removes what carries our label and what dead launchers left; everything else stays', async () => {
  const env = { ...world.environment, HOME: ground.userHome, PATH: ground.env.PATH! };
  const { code, out } = await ground.uninstall(['--yes', '--docker'], { env });
  expect([code, out]).toEqual([0, expect.stringContaining('removed  container ours')]);
  for (const gone of [
    `container ${leftover}`,
    'network our-network',
    'volume our-volume',
    'image sallyport-gateway:latest',
  ])
    expect(out).toContain(`removed  ${gone}`);
  expect(out).toContain('container living is a sandbox whose launcher may still run');
  expect(out).toContain('image built-on-ours:latest has our label, but not one of our names');
  expect(await everything()).toEqual([
    'container living',
    'container theirs',
    'image built-on-ours',
    'image theirs',
    'network their-network',
    'volume their-volume',
  ]);
});

test('a Docker that does not answer is said, and nothing at all is removed', async () => {
  ground.put('user/.config/sallyport/sallyport.yaml', 'version: 1\n');
  const before = ground.tree();
  const env = {
    ...world.environment,
    DOCKER_HOST: 'unix:///nonexistent/docker.sock',
    PATH: ground.env.PATH!,
    HOME: ground.userHome,
  };
  const { code, err } = await ground.uninstall(['--yes', '--docker'], { env });
  expect(code).toBe(1);
  expect(err).toContain('leave --docker out');
  expect(ground.tree()).toEqual(before);
});
