// A worktree and a submodule have a file for their .git, and the repository has files about each worktree: all say to git on the
// host where its settings are, so none of them can be changed or replaced.
import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
  ground.git('worktree', 'add', '-q', 'tree');
  ground.git('clone', '-q', '.', 'lib-source');
  ground.git('submodule', '--quiet', 'add', './lib-source', 'lib');
});
afterAll(() => ground.remove());

const settings = 'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = $PWD/tool.sh\\n"';

test.each([
  ['tree', 'echo "gitdir: ../evil" > tree/.git'],
  ['tree', 'rm -f tree/.git; git init -q tree'],
  ['tree', 'mv tree old; git init -q tree'],
  ['tree', 'cp -r .git evil; echo ../../../evil > .git/worktrees/tree/commondir'],
  [
    'tree',
    'mv .git/worktrees/tree .git/worktrees/x; cp -r .git/worktrees/x .git/worktrees/tree; echo /evil > .git/worktrees/tree/commondir',
  ],
  ['lib', 'rm -f lib/.git; git init -q lib'],
  ['lib', `${settings} > .git/modules/lib/config`],
  ['lib', 'git -C lib config core.fsmonitor "$PWD/tool.sh"'],
  ['lib', 'echo ../../../evil > .git/modules/lib/commondir'],
])('of %s: %s is refused', async (folder, attempt) => {
  const pointer = readFileSync(`${ground.project}/${folder}/.git`, 'utf8');
  const { output } = await ground.inside(`set -e\n${attempt}\necho DONE`);
  expect(output).not.toContain('DONE');
  expect(output).toMatch(/busy|Read-only file system|cannot (?:re)?move/i);
  expect(readFileSync(`${ground.project}/${folder}/.git`, 'utf8')).toBe(pointer);
  expect(ground.git('-C', folder, 'status')).toContain('On branch');
  expect(ground.ran()).toBe(false);
  rmSync(`${ground.project}/evil`, { recursive: true, force: true });
});

test('git works in both', async () => {
  const commit = 'commit -q --allow-empty -m inside';
  const { output } = await ground.inside(`git -C tree ${commit} && git -C lib ${commit} && echo WORKS`);
  expect(output).toContain('WORKS');
  expect(ground.git('-C', 'tree', 'log', '-1', '--format=%s')).toBe('inside\n');
});
