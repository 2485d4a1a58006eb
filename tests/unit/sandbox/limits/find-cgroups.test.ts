import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findCgroup } from '../../../../src/sandbox/limits/find-cgroups.ts';
import { prepareLimits } from '../../../../src/sandbox/limits/hold-limits.ts';

function tree(groups: Readonly<Record<string, { controllers?: string; handsOn?: string }>>): string {
  const top = mkdtempSync(join(tmpdir(), 'sallyport-cgroup-'));
  for (const [path, { controllers = '', handsOn = '' }] of Object.entries(groups)) {
    const folder = join(top, path);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cgroup.procs'), '');
    writeFileSync(join(folder, 'cgroup.controllers'), controllers);
    writeFileSync(join(folder, 'cgroup.subtree_control'), handsOn);
  }
  return top;
}
const mounted = (point: string, type = 'cgroup2', options = 'rw') =>
  `40 31 0:38 / ${point} rw - ${type} ${type} ${options}`;
const manager = 'user.slice/user-1000.slice/user@1000.service';

test('a user below their own manager has a group beside theirs', () => {
  const all = { controllers: 'cpu memory pids', handsOn: 'memory pids' };
  const top = tree({
    '': all,
    [manager]: all,
    [`${manager}/app.slice`]: all,
    [`${manager}/app.slice/run.scope`]: { controllers: 'memory pids' },
  });
  const files = { mounts: mounted(top), own: `0::/${manager}/app.slice/run.scope\n` };
  expect(findCgroup('memory', files)).toEqual({ version: 2, folder: join(top, manager, 'app.slice') });
});

test('a controller that is not handed on yet is switched on where that is ours', () => {
  const top = tree({ '': { controllers: 'memory' }, a: {} });
  // No kernel answers here: what is written stands there.
  expect(findCgroup('memory', { mounts: mounted(top), own: '0::/a\n' })).toBe(null);
  expect(readFileSync(join(top, 'cgroup.subtree_control'), 'utf8')).toBe('+memory');
});

test('version 1 has its groups below our own', () => {
  const top = tree({ a: {} });
  const files = { mounts: mounted(top, 'cgroup', 'rw,cpu,cpuacct'), own: '4:cpu,cpuacct:/a\n0::/\n' };
  expect(findCgroup('cpu', files)).toEqual({ version: 1, folder: join(top, 'a') });
  expect(findCgroup('pids', files)).toBe(null);
});

test('where there is none, what can be held otherwise is, and the rest is refused with what would help', () => {
  const none = () => null;
  expect(prepareLimits({ memory: 4 * 1024 ** 3, pids: 64 }, none, 1000).words).toEqual([
    'memory 4g per process (rlimit; no cgroup here)',
    '64 processes (rlimit)',
  ]);
  expect(() => prepareLimits({ cpus: 2 }, none, 1000)).toThrow('--cpus needs a control group');
  // The kernel does not count those of root.
  expect(() => prepareLimits({ pids: 64 }, none, 0)).toThrow('--pids needs a control group');
});
