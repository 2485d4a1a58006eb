// The guard of a setting is a mount over one file, which Linux takes away when the host replaces that file (git config does).
// It must be said; and a guard must not fall because another sandbox in the same folder has ended.
import { existsSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
});
afterAll(() => ground.remove());

const placed = (name: string): boolean => existsSync(`${ground.project}/.git/${name}`);

test('settings that the host replaced while a sandbox ran are named, with what was set', async () => {
  const { output, review } = await ground.beside('git config core.fsmonitor evil && echo DONE', () => {
    ground.git('config', 'my.own', 'setting');
  });
  expect(output).toContain('DONE');
  expect(review).toContain('.git/config was replaced on this host while the sandbox ran');
  expect(review).toContain('core.fsmonitor=evil');
  ground.git('config', '--unset', 'core.fsmonitor');
});

test('nothing is said where nobody did, and nothing that was made for it stays', async () => {
  const { review } = await ground.inside('git status');
  expect(review).toBe('');
  for (const name of ['commondir', 'config.worktree', 'info/attributes']) expect(placed(name)).toBe(false);
});

test('the end of another sandbox in the same folder lifts no guard', async () => {
  const { output } = await ground.beside(
    '{ echo ../x > .git/commondir; } 2>/dev/null && echo DONE; rm -f .git/commondir && echo DONE; echo tried',
    async () => {
      await ground.inside('git status');
      expect(placed('commondir')).toBe(true);
    },
  );
  expect(output).toContain('tried');
  expect(output).not.toContain('DONE');
});

test('what a run left that was killed does no harm, and the next takes it away', async () => {
  writeFileSync(`${ground.project}/.git/commondir`, '.\n');
  expect(ground.git('status')).toContain('On branch main');
  const { output, review } = await ground.inside('git status; git branch left; git worktree list');
  expect(output).toContain('On branch main');
  expect(review).toBe('');
  expect(placed('commondir')).toBe(false);
});
