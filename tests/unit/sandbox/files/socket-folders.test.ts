import { describe, expect, test } from 'vitest';
import { coverSocketFolders } from '../../../../src/sandbox/files/socket-folders.ts';
import type { SandboxPlan } from '../../../../src/sandbox/run/sandbox-plan.ts';

const host: Readonly<Record<string, readonly string[]>> = {
  '/run': ['user', 'dbus', 'lock'],
  '/run/systemd': ['private', 'resolve'],
  '/tmp': ['tmux-1000', 'ssh-Xy12', '.X11-unix', 'build', 'sallyport-sandboxes-1000'],
};
const plan: SandboxPlan = {
  id: 'x',
  command: ['true'],
  workingDirectory: '/home/me/work',
  environment: {},
  mounts: [],
};
const covered = (given: Partial<SandboxPlan>) =>
  coverSocketFolders({ ...plan, ...given }, (folder) => host[folder] ?? []).map(({ target }) => target);

describe('folders in which programs of the session listen', () => {
  test('are covered where they are, and others are not', () => {
    const expected = [
      '/run/user',
      '/run/dbus',
      '/run/systemd/private',
      '/tmp/tmux-1000',
      '/tmp/ssh-Xy12',
      '/tmp/.X11-unix',
    ];
    expect(covered({}).toSorted()).toEqual(expected.toSorted());
  });

  test('stay when the sandbox itself needs something inside', () => {
    expect(covered({ workingDirectory: '/tmp/ssh-Xy12/work' })).not.toContain('/tmp/ssh-Xy12');
    expect(covered({ environment: { PATH: '/usr/bin:/run/user/1000/fnm/bin' } })).not.toContain('/run/user');
    const mounts = [{ kind: 'read-only', source: '/run/user/1000/made', target: '/etc/hosts' }] as const;
    expect(covered({ mounts })).not.toContain('/run/user');
  });
});
