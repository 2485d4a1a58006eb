// A sandbox stays within its memory, its processes and its time, whatever it does to the control group that it is in. All bombs here
// are bounded: without the limit they end by themselves.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
});
afterAll(() => ground.remove());

const forks = `
import os, time
begun = 0
try:
    while begun < 120:
        if os.fork() == 0: time.sleep(600)
        begun += 1
except OSError as error: print('errno', error.errno)
print('begun', begun)
`;
const memory = `
held = []
for _ in range(45): held.append(bytearray(b'x') * 10**7)
print('held', len(held))
`;
/** In namespaces of its own it may mount control groups: with its own group as the top. */
const lift = [
  'mkdir -p /tmp/c',
  'for type in "cgroup2" "cgroup -o memory" "cgroup -o pids"; do',
  'mount -t $type none /tmp/c && {',
  'echo mounted',
  'for f in memory.max memory.swap.max pids.max; do [ -e /tmp/c/$f ] && echo max > /tmp/c/$f; done',
  'for f in memory.memsw.limit_in_bytes memory.limit_in_bytes; do [ -e /tmp/c/$f ] && echo -1 > /tmp/c/$f; done',
  'mkdir /tmp/c/deeper && echo 0 > /tmp/c/deeper/cgroup.procs',
  'umount /tmp/c; }',
  'done; exit 0',
].join('\n');
const attacks = `unshare --user --map-root-user --mount --cgroup sh -c '${lift}' 2>&1`;
const python = (program: string) => `python3 -c '${program.replaceAll("'", `'"'"'`)}'`;

describe.each(['bubblewrap', 'namespaces'])('a sandbox of root, by %s', (launcher) => {
  const run = (script: string) => {
    const limits = ['--memory', '200m', '--pids', '40', '--launcher', launcher];
    return ground.sallyport('root', ['run', ...limits, '--', 'sh', '-c', script]);
  };

  test('control groups that it mounts for itself lift no limit', async () => {
    const { stdout, stderr } = await run(`${attacks}; ${python(forks)}`);
    expect(stdout).toContain('mounted');
    expect(stdout).toMatch(/errno 11\nbegun \d\d?\n/);
    expect(Number(/begun (\d+)/.exec(stdout)![1]), stderr).toBeLessThan(40);
  });

  test('nor that of the memory; what is over it is ended, and that is said', async () => {
    const { stdout, stderr } = await run(`${attacks}; ${python(memory)}; echo code $?`);
    expect(stdout).toContain('code 137');
    expect(stdout).not.toContain('held');
    expect(stderr).toContain('its memory (200m) was used up');
  });

  test('a further command is in the same group', async () => {
    const name = `limited-${launcher}`;
    const first = ground.start('root', [
      'run',
      '-q',
      '--name',
      name,
      '--pids',
      '40',
      '--launcher',
      launcher,
      '--',
      'sleep',
      '300',
    ]);
    let code: number | null = 1;
    let stdout = '';
    for (let tries = 0; tries < 400 && code !== 0; tries++)
      ({ code, stdout } = await ground.sallyport('root', ['exec', name, '--', 'python3', '-c', forks]));
    expect(stdout).toContain('errno 11');
    await ground.sallyport('root', ['stop', '--time', '0', name]);
    await first.ended;
  });
});

test('without control groups each process is held, and the start says so', async () => {
  const limits = ['--memory', '200m', '--pids', '60'];
  const user = 'an ordinary user';
  const bomb = await ground.sallyport(user, [
    'run',
    ...limits,
    '--',
    'sh',
    '-c',
    `${attacks}; ulimit -d unlimited; ${python(memory)}`,
  ]);
  expect(bomb.stdout).not.toContain('held');
  expect(bomb.stderr).toContain('MemoryError');
  const many = await ground.sallyport(user, ['run', ...limits, '--', 'sh', '-c', `unshare -U -r ${python(forks)}`]);
  expect(many.stdout).toMatch(/errno 11\nbegun \d\d\n/);
  const told = await ground.atTerminal(
    user,
    ['run', ...limits, '--', 'true'],
    [{ wait: 'memory 200m per process (rlimit; no cgroup here), 60 processes (rlimit)' }],
  );
  expect([told.missed, told.code], told.screen).toEqual([null, 0]);
  const refused = await ground.sallyport(user, ['run', '--cpus', '1', '--', 'true']);
  expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining('--cpus needs a control group')]);
});

test('when its time is over it is ended, also when it does not want to', async () => {
  const { code, stderr } = await ground.sallyport('root', ['run', '--time', '1s', '--', 'sleep', '600']);
  expect([code, stderr]).toEqual([124, 'sallyport: the time of this sandbox is over (1s): it is ended\n']);
});
