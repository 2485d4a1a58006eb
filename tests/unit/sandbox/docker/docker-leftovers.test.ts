import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { isGone, launcherLabel, type ProcessIdentity } from '../../../../src/sandbox/docker/docker-leftovers.ts';

const self: ProcessIdentity = { boot: 'b', space: '7', pid: 10, startedAt: '100' };
const starts = (pid: number) => (pid === 20 ? '200' : null);

describe('a container is a leftover only when its launcher is certainly gone', () => {
  test.each([
    ['b/7/20/200', false, 'it lives'],
    ['b/7/20/199', true, 'its number was given to another'],
    ['b/7/21/200', true, 'there is no such process'],
    ['c/7/20/200', true, 'the machine was started anew'],
    ['b/8/21/200', false, 'its number counts in another pid namespace'],
    ['b/7/x/200', false, 'the label cannot be read'],
    ['b/7/20/200/1', false, 'the label cannot be read'],
    ['', false, 'there is no label'],
  ])('%j: %s, because %s', (label, gone) => {
    expect(isGone(label, self, starts)).toBe(gone);
  });

  test('this process is not gone by its own label, and a child that ended is', async () => {
    const [, label] = launcherLabel().split('=') as [string, string];
    const [boot, space, pid, startedAt] = label.split('/') as [string, string, string, string];
    const me = { boot, space, pid: Number(pid), startedAt };
    expect(isGone(label, me)).toBe(false);
    const child = spawn('true');
    await new Promise((resolve) => child.on('close', resolve));
    expect(isGone(`${boot}/${space}/${child.pid}/${startedAt}`, me)).toBe(true);
  });
});
