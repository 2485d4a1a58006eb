import { describe, expect, test } from 'vitest';
import { readMountPoints } from '../../../../src/sandbox/docker/docker.ts';
import { type CreateOptions, dockerCreateArguments, lies } from '../../../../src/sandbox/docker/docker-arguments.ts';
import type { Mount, SandboxPlan } from '../../../../src/sandbox/run/sandbox-plan.ts';

const options: CreateOptions = {
  name: 'sallyport-0-command',
  holder: 'sallyport-0',
  image: 'tools:1',
  labels: ['sallyport.launcher=x'],
  user: '1:2',
  terminal: true,
  seccompFile: '/x/seccomp.json',
  mountPoints: ['/', '/data', '/data/disk', '/database'],
};

function build(plan: Partial<SandboxPlan>): readonly string[] {
  const whole = { id: 'one', command: ['sh'], workingDirectory: '/work', environment: {}, mounts: [], ...plan };
  return dockerCreateArguments(whole, options);
}

function mounts(...list: Mount[]): readonly string[] {
  const args = build({ mounts: list });
  return args.flatMap((arg, at) => (arg === '--mount' || arg === '--tmpfs' ? [`${arg} ${args[at + 1]}`] : []));
}

describe('what docker is told for a plan', () => {
  test('the command replaces what the image would run', () => {
    const args = build({ command: ['git', 'status', '-s'] });
    expect(args.slice(-6)).toEqual(['--entrypoint', 'git', '--', 'tools:1', 'status', '-s']);
    expect(args.join(' ')).toContain('--user 1:2 --workdir /work');
    expect(args).toContain('--tty=true');
    expect(() => build({ command: [] })).toThrow('there is no command to run');
  });

  test('each kind of mount becomes what docker has for it', () => {
    expect(
      mounts(
        { kind: 'read-write', source: '/a', target: '/work' },
        { kind: 'read-only', source: '/b', target: '/b' },
        { kind: 'empty', target: '/tmp' },
        { kind: 'masked-file', target: '/work/.netrc' },
        { kind: 'masked-folder', target: '/work/.aws' },
      ),
    ).toEqual([
      '--mount type=bind,source=/a,target=/work',
      '--mount type=bind,source=/b,target=/b,readonly',
      '--tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777',
      '--mount type=bind,source=/dev/null,target=/work/.netrc,readonly',
      '--mount type=tmpfs,target=/work/.aws,tmpfs-mode=0555,readonly',
    ]);
  });

  test('a link cannot be made, and that is said', () => {
    expect(() => mounts({ kind: 'link', target: '/bin', to: 'usr/bin' })).toThrow('docker cannot make a link');
  });

  test('a mount that a later one covers is left out', () => {
    expect(
      mounts(
        { kind: 'read-only', source: '/a', target: '/etc/hosts' },
        { kind: 'read-write', source: '/b', target: '/tmp/inner' },
        { kind: 'empty', target: '/tmp' },
        { kind: 'read-only', source: '/c', target: '/etc/hosts' },
        { kind: 'read-only', source: '/d', target: '/tmpfile' },
      ),
    ).toEqual([
      '--tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777',
      '--mount type=bind,source=/c,target=/etc/hosts,readonly',
      '--mount type=bind,source=/d,target=/tmpfile,readonly',
    ]);
  });

  test('what the host has mounted inside a read-only folder is named by itself', () => {
    expect(mounts({ kind: 'read-only', source: '/data', target: '/in' })).toEqual([
      '--mount type=bind,source=/data,target=/in,readonly',
      '--mount type=bind,source=/data/disk,target=/in/disk,readonly',
    ]);
    expect(mounts({ kind: 'read-write', source: '/data', target: '/in' })).toHaveLength(1);
  });

  test('the mounts of the host are read as the kernel writes them', () => {
    const line = '36 35 98:0 /mnt1 /a\\040folder\\134 rw,noatime master:1 - ext3 /dev/root rw';
    expect(readMountPoints(`${line}\n`)).toEqual(['/a folder\\']);
  });

  test('a path lies in a folder by its parts, not by its letters', () => {
    expect([lies('/a/b', '/a'), lies('/a', '/a/'), lies('/a/b', '/'), lies('/ab', '/a'), lies('/', '/a')]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
