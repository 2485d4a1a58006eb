// A sandbox of root runs as the host's uid 0, without a capability: its files must be root's. Some files of the kernel ask
// for that uid alone; with /proc/sys/kernel/core_pattern a program would run on the host. Nothing is written here: that it
// could be opened for writing would be enough.
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround } from '../../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

describe.each(['bubblewrap', 'namespaces'] as const)('a sandbox of root in %s', (launcher) => {
  test('can open no setting of the kernel for writing, in its own /proc or in one it mounts', async () => {
    const look = [
      'import os, sys',
      'found = []',
      'for top in sys.argv[1:]:',
      '    for folder, _, files in os.walk(top):',
      '        for name in files:',
      '            try: os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK)); found.append(os.path.join(folder, name))',
      '            except OSError: pass',
      'print(len(found), *found[:5], flush=True)',
    ].join('\n');
    ground.write('look.py', look);
    const script = [
      '/usr/bin/python3 look.py /proc/sys /proc/irq /proc/bus /proc/fs /proc/driver',
      'mkdir /tmp/proc /tmp/sys',
      'unshare -Urpfm sh -c "mount -t proc proc /tmp/proc; /usr/bin/python3 look.py /tmp/proc/sys" 2>/dev/null',
      'unshare -Urnm sh -c "mount -t sysfs sysfs /tmp/sys; ls -A /tmp/sys" 2>/dev/null; echo end',
    ].join('\n');
    const { stdout } = await ground.run({ launcher, command: ['sh', '-c', script] });
    expect(stdout).toBe('0\n0\nend\n');
  });

  test('cannot change owner, mode or times of the devices it shares with the host', async () => {
    const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`);
    const before = devices.map((device) => statSync(device).mode);
    const script =
      'for each in "$@"; do chmod 0666 $each; chown 1000 $each; done 2>&1 | grep -c "Read-only"; echo x > /dev/null && echo works';
    const { stdout } = await ground.run({ launcher, command: ['sh', '-c', script, 'sh', ...devices] });
    expect(stdout).toBe(`${2 * devices.length}\nworks\n`);
    expect(devices.map((device) => statSync(device).mode)).toEqual(before);
  });
});
