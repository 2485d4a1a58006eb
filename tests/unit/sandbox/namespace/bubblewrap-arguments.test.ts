import { describe, expect, test } from 'vitest';
import { bubblewrapArguments } from '../../../../src/sandbox/namespace/bubblewrap.ts';
import type { Mount, SandboxPlan } from '../../../../src/sandbox/run/sandbox-plan.ts';

const surroundings = { user: { uid: 7, gid: 8 }, filterDescriptor: 6, releaseDescriptor: 7, readOnlyKernelPaths: [] };
const planWith = (given: Partial<SandboxPlan>): SandboxPlan => ({
  id: 'x',
  command: ['true'],
  workingDirectory: '/work',
  environment: {},
  mounts: [],
  ...given,
});
const argumentsOf = (given: Partial<SandboxPlan>, more = {}): string[] =>
  bubblewrapArguments(planWith(given), { ...surroundings, ...more })
    .toString()
    .split('\0')
    .slice(0, -1);
const has = (args: readonly string[], ...wanted: readonly string[]): boolean =>
  args.some((_, at) => wanted.every((word, i) => args[at + i] === word));

describe('options for bubblewrap', () => {
  test('every namespace but the network is new, no capability is left, and the filter is loaded', () => {
    const args = argumentsOf({});
    for (const wanted of ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--die-with-parent'])
      expect(args).toContain(wanted);
    expect(has(args, '--cap-drop', 'ALL')).toBe(true);
    expect(has(args, '--seccomp', '6')).toBe(true);
    expect(has(args, '--uid', '7', '--gid', '8')).toBe(true);
    // The namespace with the door in it is there already; a new session would take the terminal away.
    for (const never of ['--unshare-net', '--unshare-all', '--share-net', '--new-session', '--command'])
      expect(args).not.toContain(never);
  });

  test('each kind of mount, in the order of the plan and before /proc and /dev', () => {
    const mounts: readonly Mount[] = [
      { kind: 'read-only', source: '/a', target: '/b' },
      { kind: 'read-write', source: '/c', target: '/d' },
      { kind: 'empty', target: '/tmp' },
      { kind: 'link', target: '/bin', to: 'usr/bin' },
      { kind: 'masked-file', target: '/d/.env' },
      { kind: 'masked-folder', target: '/d/.ssh' },
    ];
    const args = argumentsOf({ mounts }, { readOnlyKernelPaths: ['/proc/sys'] });
    expect(args.slice(args.indexOf('--ro-bind'), args.indexOf('--chdir'))).toEqual([
      ...['--ro-bind', '/a', '/b', '--bind', '/c', '/d', '--tmpfs', '/tmp', '--symlink', 'usr/bin', '/bin'],
      ...['--dev-bind', '/dev/null', '/d/.env', '--tmpfs', '/d/.ssh', '--remount-ro', '/d/.ssh'],
      ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', '/proc/sys', '/proc/sys'],
    ]);
  });

  test('a value stays one value, whatever is in it', () => {
    const args = argumentsOf({ environment: { ODD: '--bind / /\n"quoted"' } });
    expect(has(args, '--setenv', 'ODD', '--bind / /\n"quoted"')).toBe(true);
    expect(() => argumentsOf({ environment: { ODD: 'a\0--bind\0/\0/' } })).toThrow(/NUL/);
  });

  test.each(['/proc', '/proc/1', '/dev/shm', '/sys', '/usr/../sys/x', '/./dev'])(
    'nothing is mounted at %s',
    (target) => {
      expect(() => argumentsOf({ mounts: [{ kind: 'empty', target }] })).toThrow(/nothing can be mounted/);
    },
  );

  test('more than bubblewrap takes is an error before anything starts', () => {
    const mounts = Array.from({ length: 4_500 }, (_, i): Mount => ({ kind: 'empty', target: `/m/${i}` }));
    expect(() => argumentsOf({ mounts })).toThrow(/too many files/);
  });
});
