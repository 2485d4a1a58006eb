import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostFiles } from '../../../../src/sandbox/files/host-files.ts';
import { surveyDangers } from '../../../../src/sandbox/files/survey-dangers.ts';
import { gitMounts, protectRepository } from '../../../../src/sandbox/traps/git-mounts.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeAll(() => {
  ground = makeMountGround();
  const main = ground.folder('main');
  const options = ['-c', 'user.name=a', '-c', 'user.email=a@b.example', '-c', 'protocol.file.allow=always'];
  const git = (cwd: string, ...args: string[]) => execFileSync('git', [...options, ...args], { cwd, stdio: 'ignore' });
  git(main, 'init', '-q');
  git(main, 'commit', '-q', '--allow-empty', '-m', 'one');
  git(main, 'worktree', 'add', '-q', `${ground.top}/tree`);
  git(ground.top, 'init', '-q', '--bare', 'bare.git');
  git(ground.folder('super'), 'init', '-q');
  git(`${ground.top}/super`, 'submodule', '--quiet', 'add', main, 'sub');
});
afterAll(() => ground.remove());

/** What is mounted for one git folder, with one worktree or none. */
function guardedIn(folder: string, worktree?: string): { kind: string; path: string }[] {
  const writable = (name: string) => ({ kind: 'read-write', path: join(folder, name) });
  const fixed = (name: string) => ({ kind: 'read-only', path: join(folder, name) });
  return [
    writable(''),
    ...['hooks', 'config', 'config.worktree', 'commondir'].map(fixed),
    ...[writable('info'), fixed('info/attributes')],
    ...(worktree === undefined ? [] : [writable('worktrees'), writable(`worktrees/${worktree}`)]),
    ...(worktree === undefined ? [] : ['commondir', 'gitdir'].map((name) => fixed(`worktrees/${worktree}/${name}`))),
  ];
}

function mountsOf(folder: string, access: 'read-only' | 'writable' = 'read-only') {
  const facts = { home: ground.home, uid: 0, stateFolder: ground.state, environment: {}, hide: [] };
  return gitMounts(folder, surveyDangers(facts, hostFiles), hostFiles, access);
}

describe('the repository of the working directory', () => {
  test('is a mount of its own with its hooks and settings read-only', () => {
    const { mounts, standIns, notices } = mountsOf(`${ground.top}/main`);
    expect(mounts).toEqual(guardedIn(`${ground.top}/main/.git`, 'tree'));
    expect(standIns.map(({ path }) => path)).toEqual(
      ['config.worktree', 'commondir', 'info/attributes'].map((name) => `${ground.top}/main/.git/${name}`),
    );
    expect(notices).toEqual([]);
  });

  test('has settings that can be written where its user says so, and nothing else', () => {
    const { mounts } = mountsOf(`${ground.top}/main`, 'writable');
    const all = guardedIn(`${ground.top}/main/.git`, 'tree');
    expect(mounts).toEqual(all.filter(({ path }) => !/\/config(?:\.worktree)?$/.test(path)));
  });

  test('with more submodules than can be protected one by one has all of them read-only', () => {
    ground.file('many/.git/HEAD');
    for (let i = 0; i < 45; i++) ground.file(`many/.git/modules/m${i}/HEAD`);
    const { mounts, notices } = mountsOf(`${ground.top}/many`);
    expect(mounts.filter(({ path }) => path.includes('modules'))).toEqual([
      { kind: 'read-only', path: `${ground.top}/many/.git/modules` },
    ]);
    expect(notices).toEqual([expect.stringContaining('--git-config writable')]);
    const asked = mountsOf(`${ground.top}/many`, 'writable').mounts;
    expect(asked.filter(({ path }) => path.endsWith('/hooks'))).toHaveLength(46);
  });

  test('has nothing made in it where it is a bare one among other files', () => {
    const { mounts, standIns } = protectRepository(`${ground.top}/bare.git`, hostFiles);
    expect(standIns).toEqual([]);
    expect(mounts).toContainEqual({ kind: 'read-only', path: `${ground.top}/bare.git/config` });
  });

  test('with a link for its settings is told to be without protection', () => {
    ground.folder('linked/.git');
    ground.link('linked/.git/config', '../elsewhere');
    expect(mountsOf(`${ground.top}/linked`).notices).toEqual([expect.stringContaining('config is a link')]);
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
      ...guardedIn(`${ground.top}/main/.git`, 'tree'),
      { kind: 'read-only', path: `${ground.top}/tree/.git` },
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
      ...guardedIn(`${ground.top}/super/.git`),
      ...guardedIn(`${ground.top}/super/.git/modules/sub`),
    ]);
  });

  test.each(['main/.git/worktrees/tree', 'main/.git', 'super/.git/modules/sub'])(
    'a pointer to %s, which does not know the folder, is not followed',
    (named) => {
      const folder = ground.folder('planted');
      writeFileSync(`${folder}/.git`, `gitdir: ${ground.top}/${named}\n`);
      const { mounts, notices } = mountsOf(folder);
      expect(mounts).toEqual([{ kind: 'read-only', path: `${folder}/.git` }]);
      expect(notices).toEqual([expect.stringContaining('does not name this folder')]);
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
      standIns: [],
      notices: [expect.stringContaining(`begins at ${ground.top}/main`)],
    });
  });
});
