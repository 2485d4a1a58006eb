// Further commands in a sandbox that runs: they see what the first one sees, may do what it may, and end as it would.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeRunGround, type RunGround, type RunningCommand, type RunUser } from '../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
});
afterAll(() => ground.remove());

/** What a process is, as it says it itself. */
const self = `
import os, re
def status(name): return re.search(r'^%s:[ \\t]*(.*)$' % name, open('/proc/self/status').read(), re.M).group(1)
print({n: os.readlink('/proc/self/ns/' + n) for n in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup')})
print({n: status(n) for n in ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'SigIgn', 'SigBlk')})
print(os.getcwd(), os.umask(0), open('/proc/self/cgroup').read())
print(sorted(v for v in os.environ.items() if v[0] not in ('PWD', 'OLDPWD', 'SHLVL', '_')))
`;

const ways: readonly (readonly [user: RunUser, launcher: string])[] = [
  ['root', 'bubblewrap'],
  ['an ordinary user', 'bubblewrap'],
  ['root', 'namespaces'],
  ['an ordinary user', 'namespaces'],
  ['an ordinary user', 'unshare'],
];

describe.each(ways)('a sandbox of %s, by %s', (user, launcher) => {
  const name = `hands-${launcher}`;
  let first: RunningCommand;
  const sallyport = (args: readonly string[], options = {}) => ground.sallyport(user, args, options);
  const exec = (command: readonly string[], input = '') => sallyport(['exec', '-i', name, '--', ...command], { input });

  beforeAll(async () => {
    const script = `exec python3 -c '${self.replaceAll("'", `'"'"'`)}
import sys, time
sys.stdout.flush()
time.sleep(600)'`;
    first = ground.start(user, ['run', '--quiet', '--name', name, '--launcher', launcher, '--', 'sh', '-c', script]);
    await eventually(
      () => first.output().includes('cgroup') && first.output().trim().endsWith(']'),
      () => first.output(),
    );
    await eventually(async () => (await sallyport(['ps'])).stdout.includes('running'), 'it runs');
  });

  test('ps tells of it, and JSON the same', async () => {
    const { stdout } = await sallyport(['ps', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ name, launcher, state: 'running', exit_code: null, ports: [] }]);
    expect((await sallyport(['ps'])).stdout).toContain(name);
  });

  test('another command has the namespaces, the filter, the rights, the folder and the environment of the first', async () => {
    const { code, stdout, stderr } = await exec(['python3', '-c', self]);
    expect([code, stderr]).toEqual([0, '']);
    const told = first.output().slice(first.output().indexOf("{'user'"));
    expect(stdout).toBe(told);
    expect(stdout).toContain("'NoNewPrivs': '1'");
    expect(stdout).toContain("'CapEff': '0000000000000000'");
    expect(stdout).toContain("'CapBnd': '0000000000000000'");
  });

  test('it has its input, its two outputs and its exit code', async () => {
    const { code, stdout, stderr } = await exec(['sh', '-c', 'cat; echo to stderr >&2; exit 9'], 'what went in\n');
    expect([code, stdout, stderr]).toEqual([9, 'what went in\n', 'to stderr\n']);
    const killed = await exec(['sh', '-c', 'kill -KILL $$']);
    expect(killed.code).toBe(137);
    const missing = await exec(['no-such-program']);
    expect(missing.code).toBe(127);
  });

  test('much output comes whole, and in order', async () => {
    const { code, stdout } = await exec(['seq', '1', '200000']);
    expect(code).toBe(0);
    expect(stdout).toBe(Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join(''));
  });

  test('a folder and variables are as asked, and a folder that is not there is said', async () => {
    const args = ['exec', '--in', name, '-w', '/', '-e', 'ONE=a b=c', '--', 'sh', '-c', 'pwd; echo "$ONE"'];
    expect((await sallyport(args)).stdout).toBe('/\na b=c\n');
    const wrong = await sallyport(['exec', '--in', name, '-w', '/no/such', '--', 'true']);
    expect([wrong.code, wrong.stderr]).toEqual([
      126,
      expect.stringContaining('there is no folder /no/such in the sandbox'),
    ]);
  });

  test('a process that it leaves behind does not hold the caller', async () => {
    const { code, stdout } = await exec(['sh', '-c', 'sleep 500 & echo left']);
    expect([code, stdout]).toEqual([0, 'left\n']);
  });

  test('a signal to the caller is passed on', async () => {
    const script = 'trap "echo got INT; exit 3" INT; echo up; while :; do sleep 0.05; done';
    const command = ground.start(user, ['exec', '-i', name, '--', 'sh', '-c', script]);
    await eventually(
      () => command.output().includes('up'),
      () => command.output(),
    );
    command.kill('SIGINT');
    expect(await command.ended).toBe(3);
    expect(command.output()).toContain('got INT');
  });

  test('at a terminal it has one of its own: keys, sizes and job control', async () => {
    const command = ['exec', name, '--', 'bash', '--norc', '--noprofile', '-i'];
    const run = await ground.atTerminal(user, command, [
      { wait: '$ ' },
      { resize: [31, 97] },
      { type: 'until stty size | grep -q 31.97; do :; done; tty; stty size; echo $TERM\n' },
      { wait: '/dev/pts/' },
      { wait: '31 97' },
      { wait: 'xterm' },
      // The words that are typed are on the screen too.
      { type: `sh -c 'echo be""gun; exec sleep 300'\n` },
      { wait: 'begun' },
      { type: '\x1a' },
      { wait: 'Stopped' },
      { type: `kill -9 %1; wait; sh -c 'echo a""gain; exec sleep 300'\n` },
      { wait: 'again' },
      { type: '\x03' },
      { wait: '$ ' },
      { type: 'exit 5\n' },
    ]);
    expect([run.missed, run.code], run.screen).toEqual([null, 5]);
  });

  test('a second sandbox cannot have its name, and stop ends it', async () => {
    const second = await sallyport(['run', '--name', name, '--launcher', launcher, '--', 'true']);
    expect(second.code).toBe(125);
    expect(second.stderr).toContain(`a sandbox named ${name} runs already`);
    const stopped = await sallyport(['stop', name]);
    expect([stopped.code, stopped.stderr]).toEqual([0, '']);
    expect(await first.ended).toBe(143);
    expect((await sallyport(['ps'])).stdout).toBe('');
    expect((await sallyport(['ps', '-a'])).stdout).toContain('ended (143)');
    const late = await exec(['true']);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('has ended')]);
  });
});

test('where several run, one must be named; where none does, that is said', async () => {
  const none = await ground.sallyport('root', ['exec', '--', 'true']);
  expect(none.stderr).toContain('no sandbox runs');
  const two = ['one', 'two'].map((name) => ground.start('root', ['run', '-q', '--name', name, '--', 'sleep', '300']));
  await eventually(
    async () => (await ground.sallyport('root', ['ps'])).stdout.match(/ running /g)?.length === 2,
    'both run',
  );
  const { code, stderr } = await ground.sallyport('root', ['exec', '--', 'true']);
  expect(code).toBe(2);
  expect(stderr).toContain('2 sandboxes run: name one');
  for (const name of ['one', 'two']) await ground.sallyport('root', ['stop', '--time', '0', name]);
  expect(await Promise.all(two.map(({ ended }) => ended))).toEqual([137, 137]);
});
