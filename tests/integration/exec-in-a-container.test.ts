// Further commands in a container of the Docker launcher: the daemon starts them with what the container was made with.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { eventually } from '../support/eventually.ts';
import { makeRunGround, type RunGround, type RunningCommand } from '../support/run-ground.ts';

let dockerd: TestDockerd;
let ground: RunGround;
let first: RunningCommand;
const self =
  'env | sort; grep -E "Uid|NoNew|Seccomp|Cap" /proc/self/status; pwd; readlink /proc/self/ns/net; cat /proc/self/cgroup';

beforeAll(async () => {
  ground = makeRunGround({ allow: [] });
  dockerd = await startDockerd();
  const programs = ['sh', 'cat', 'env', 'sort', 'grep', 'readlink', 'sleep', 'seq', 'stty', 'ls'];
  await dockerd.importImage('tools:1', { programs, copies: { '/bin/sh': '/bin/sh' } }, ['ENV FROM_IMAGE=yes']);
  const args = [
    'run',
    '-q',
    '--name',
    'box',
    '--image',
    'tools:1',
    '--',
    'sh',
    '-c',
    `${self}; echo up; exec sleep 600`,
  ];
  first = ground.start('root', args, { env: surroundings() });
  await eventually(
    () => first.output().includes('up'),
    () => first.output(),
  );
}, 120_000);

afterAll(async () => {
  await ground.sallyport('root', ['stop', '--time', '0', 'box']);
  await dockerd?.stop();
  ground.remove();
});

const surroundings = () => ({ DOCKER_HOST: dockerd.environment.DOCKER_HOST! });
const exec = (args: readonly string[], input = '') => ground.sallyport('root', ['exec', ...args], { input });

test('it has the rights, the environment and the network of the first', async () => {
  const { code, stdout, stderr } = await exec(['box', '--', 'sh', '-c', self]);
  expect([code, stderr]).toEqual([0, '']);
  // The first one had a terminal of nobody, and was started by a gate: what a shell adds may differ.
  const rows = (text: string) => text.split('\n').filter((line) => !/^(_|SHLVL|PWD|OLDPWD|HOSTNAME|up|$)/.test(line));
  expect(rows(stdout)).toEqual(rows(first.output()));
  expect(stdout).toMatch(/NoNewPrivs:\s1\n/);
  expect(stdout).toMatch(/CapBnd:\s0000000000000000/);
  expect(stdout).toMatch(/Seccomp:\s2\n/);
});

test('input, outputs, codes, folder and variables', async () => {
  const whole = await exec(['-i', 'box', '--', 'sh', '-c', 'cat; echo e >&2; exit 9'], 'in\n');
  expect(whole).toEqual({ code: 9, stdout: 'in\n', stderr: 'e\n' });
  expect((await exec(['-w', '/', '-e', 'A=b', 'box', '--', 'sh', '-c', 'pwd; echo $A'])).stdout).toBe('/\nb\n');
  expect((await exec(['box', '--', 'seq', '1', '50000'])).stdout).toMatch(/\n50000\n$/);
  expect((await exec(['box', '--', 'no-such'])).code).toBe(127);
});

test('at a terminal', async () => {
  const run = await ground.atTerminal(
    'root',
    ['exec', 'box', '--', 'sh', '-c', 'until stty size | grep "24 80"; do :; done; read line; exit $line'],
    [{ wait: '24 80' }, { type: '6\n' }],
  );
  expect([run.missed, run.code], run.screen).toEqual([null, 6]);
});

test('a signal is passed on', async () => {
  const command = ground.start('root', [
    'exec',
    '-i',
    'box',
    '--',
    'sh',
    '-c',
    'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.1; done',
  ]);
  await eventually(
    () => command.output().includes('up'),
    () => command.output(),
  );
  command.kill('SIGTERM');
  expect(await command.ended, command.output()).toBe(3);
});
