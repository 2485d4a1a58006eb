// A hostile sandbox can spoil a further command, which is its own, and lie about its end. It cannot change what is ordered, give the
// host anything to open, get a file of the host, or gain a right by it.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import {
  makeRunGround,
  type RunGround,
  type RunningCommand,
  type RunUser,
  runUsers,
} from '../../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
});
afterAll(() => ground.remove());

/** Speaks about the newest order, whose command has just told its number to its pipe. */
const onOrders = (body: string) => `
import glob, os, time
seen = set()
while True:
    for order in sorted(glob.glob('/sallyport/orders/*')):
        if order in seen: continue
        seen.add(order)
${body
  .trim()
  .split('\n')
  .map((line) => `        ${line}`)
  .join('\n')}
    time.sleep(0.005)
`;

describe.each(runUsers)('as %s', (user: RunUser) => {
  const inHostile = async (
    program: string,
    test: (exec: (script: string) => ReturnType<typeof ground.sallyport>) => Promise<void>,
  ) => {
    const first: RunningCommand = ground.start(user, [
      'run',
      '-q',
      '--',
      'python3',
      '-u',
      '-c',
      `print('up')\n${program}`,
    ]);
    await eventually(
      () => first.output().includes('up'),
      () => first.output(),
    );
    await eventually(async () => (await ground.sallyport(user, ['ps'])).stdout.includes('running'), 'it runs');
    await test((script) => ground.sallyport(user, ['exec', '-i', '--', 'sh', '-c', script]));
    expect((await ground.sallyport(user, ['stop', '--time', '0'])).code).toBe(0);
    await first.ended;
    return first.output();
  };

  test('orders and pipes are not its to change, and nothing of the host is open in a command', async () => {
    const attempts = `
for act in (lambda: open(order + '/start', 'a'), lambda: os.unlink(order + '/out'), lambda: os.rename(order, order + 'x'), lambda: os.mkdir('/sallyport/orders/0')):
    try: act(); print('CHANGED')
    except OSError as error: print('errno', error.errno)
`;
    const said = await inHostile(onOrders(attempts), async (exec) => {
      const { stdout } = await exec(
        'sleep 0.3; for fd in /proc/self/fd/*; do readlink $fd; done; cat /proc/1/environ 2>&1; ls /proc/*/root/home 2>/dev/null',
      );
      const links = stdout.split('\n').filter((line) => line.startsWith('/') && !line.startsWith('/proc'));
      for (const link of links) expect(link).toMatch(/^\/sallyport\/orders\/[0-9a-f]+\/(in|out|err)$|^\/dev\/null$/);
      expect(stdout).not.toContain('SALLYPORT_HOME');
    });
    expect(said).toContain('errno 30');
    expect(said).not.toContain('CHANGED');
  });

  test('a flood of lies about the end is an end, and the next command runs', async () => {
    const lies = `
try:
    pipe = os.open(order + '/status', os.O_WRONLY)
    os.write(pipe, b'pid 1' * 10000)
    os.close(pipe)
except OSError as error: print('errno', error.errno)
`;
    await inHostile(onOrders(lies), async (exec) => {
      const results = [await exec('sleep 1; exit 4'), await exec('sleep 1; exit 4')];
      for (const { code } of results) expect([4, 137, 125]).toContain(code);
    });
  });

  test('a code that is none, and who waits being killed, leave the caller with one', async () => {
    const kill = `
time.sleep(0.1)
for process in glob.glob('/proc/[0-9]*'):
    try: words = open(process + '/cmdline').read()
    except OSError: continue
    if words.endswith(order + '/start\\0'): os.kill(int(process[6:]), 9)
`;
    await inHostile(onOrders(kill), async (exec) => {
      expect([137, 125]).toContain((await exec('sleep 2; exit 4')).code);
    });
    const left = readdirSync(join(ground.stateOf(user), 'running'));
    expect(left).toEqual([]);
  });

  test('a set-user-id program and a terminal give it nothing more than the first command has', async () => {
    await inHostile('import time\ntime.sleep(600)', async (exec) => {
      const { stdout } = await exec(
        "for p in /usr/bin/su /usr/bin/mount; do [ -u $p ] && python3 -c \"import os; print(os.access('$p', os.X_OK))\"; done; mount -t tmpfs x /tmp 2>&1; grep -E 'NoNewPrivs|CapEff' /proc/self/status",
      );
      expect(stdout).toMatch(/NoNewPrivs:\s1/);
      expect(stdout).toMatch(/CapEff:\s0000000000000000/);
      expect(stdout).toMatch(/permission denied|must be superuser|only root/i);
      const typed = await exec(
        "python3 -c \"import fcntl, os, pty\nmaster, slave = pty.openpty()\ntry: fcntl.ioctl(slave, 0x5412, b'x'); print('TYPED')\nexcept OSError as error: print('errno', error.errno)\"",
      );
      expect(typed.stdout).toBe('errno 1\n');
    });
  });
});
