import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gitMounts } from '../../../src/launch/git-mounts.ts';
import { hostFiles } from '../../../src/launch/host-files.ts';
import { surveyDangers } from '../../../src/launch/survey-dangers.ts';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

let ground: MountGround;
beforeAll(() => {
  ground = makeMountGround();
  const main = ground.folder('main');
  const options = ['-c', 'user.name=a', '-c', 'user.email=a@b.example', '-c', 'protocol.file.allow=always'];
  const git = (cwd: string, ...args: string[]) => execFileSync('git', [...options, ...args], { cwd, stdio: 'ignore' });
  git(main, 'init', '-q');
  git(main, 'commit', '-q', '--allow-empty', '-m', 'one');
  git(main, 'worktree', 'add', '-q', `${ground.top}/tree`);
  git(ground.folder('super'), 'init', '-q');
  git(`${ground.top}/super`, 'submodule', '--quiet', 'add', main, 'sub');
});
afterAll(() => ground.remove());

function mountsOf(folder: string) {
  const facts = { home: ground.home, uid: 0, stateFolder: ground.state, environment: {}, hide: [] };
  return gitMounts(folder, surveyDangers(facts, hostFiles), hostFiles);
}

describe('the repository of the working directory', () => {
  test('is a mount of its own with its hooks read-only', () => {
    const { mounts, notices } = mountsOf(`${ground.top}/main`);
    expect(mounts).toEqual([
      { kind: 'read-write', path: `${ground.top}/main/.git` },
      { kind: 'read-only', path: `${ground.top}/main/.git/hooks` },
    ]);
    expect(notices).toEqual([]);
  });

  test('has a mask where there are no hooks, so that none can be made', () => {
    ground.folder('bare-bones/.git');
    expect(mountsOf(`${ground.top}/bare-bones`).mounts).toContainEqual({
      kind: 'masked-folder',
      path: `${ground.top}/bare-bones/.git/hooks`,
    });
  });

  test('of a worktree is let in with its hooks read-only, because it knows the worktree', () => {
    const { mounts, notices } = mountsOf(`${ground.top}/tree`);
    expect(mounts).toEqual([
      { kind: 'read-write', path: `${ground.top}/main/.git` },
      { kind: 'read-only', path: `${ground.top}/main/.git/hooks` },
    ]);
    expect(notices).toEqual([expect.stringContaining('is let in')]);
  });

  test('of a submodule is let in, and only its own part', () => {
    expect(mountsOf(`${ground.top}/super/sub`).mounts[0]).toEqual({
      kind: 'read-write',
      path: `${ground.top}/super/.git/modules/sub`,
    });
  });

  test('with submodules has the hooks of each of them read-only too', () => {
    expect(mountsOf(`${ground.top}/super`).mounts).toEqual([
      { kind: 'read-write', path: `${ground.top}/super/.git` },
      { kind: 'read-only', path: `${ground.top}/super/.git/hooks` },
      { kind: 'read-write', path: `${ground.top}/super/.git/modules/sub` },
      { kind: 'read-only', path: `${ground.top}/super/.git/modules/sub/hooks` },
    ]);
  });

  test.each(['main/.git/worktrees/tree', 'main/.git', 'super/.git/modules/sub'])(
    'a pointer to %s, which does not know the folder, is not followed',
    (named) => {
      const folder = ground.folder('planted');
      writeFileSync(`${folder}/.git`, `gitdir: ${ground.top}/${named}\n`);
      const { mounts, notices } = mountsOf(folder);
      expect(mounts).toEqual([]);
      expect(notices).toEqual([expect.stringContaining('does not know this folder')]);
      rmSync(folder, { recursive: true });
    },
  );

  test('a login in its settings and borrowed objects are told', () => {
    ground.file('told/.git/config', '[remote "origin"]\n\turl = https://me:word@host.example/me/it.git\n');
    ground.file('told/.git/objects/info/alternates', '/srv/cache/objects\n');
    expect(mountsOf(`${ground.top}/told`).notices).toEqual([
      expect.stringContaining('holds a login'),
      expect.stringContaining('/srv/cache/objects'),
    ]);
  });

  test('that begins further up is told, and not let in', () => {
    const folder = ground.folder('main/deep/down');
    expect(mountsOf(folder)).toEqual({
      mounts: [],
      notices: [expect.stringContaining(`begins at ${ground.top}/main`)],
    });
  });
});
