import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { snapshotHostTraps } from '../../../../src/sandbox/traps/host-traps.ts';
import { reviewHostTraps } from '../../../../src/sandbox/traps/trap-review.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeEach(() => {
  ground = makeMountGround();
  git('init', '-q');
});
afterEach(() => ground.remove());

const git = (...args: string[]) => execFileSync('git', args, { cwd: ground.project, stdio: 'ignore' });

async function reviewAfter(change: () => void): Promise<string> {
  const before = await snapshotHostTraps(ground.project);
  change();
  return (await reviewHostTraps(before, await snapshotHostTraps(ground.project, { before }))).join('\n');
}

describe('after a command, what it left for the host to run', () => {
  test('is nothing after ordinary work with git', async () => {
    expect(
      await reviewAfter(() => {
        git('config', 'branch.topic.remote', 'origin');
        git('config', 'branch.topic.merge', 'refs/heads/topic');
        git('config', 'user.name', 'dev');
        ground.file(`${ground.project}/src/index.ts`);
      }),
    ).toBe('');
  });

  test.each([
    ['core.fsmonitor', '/tmp/evil'],
    ['core.hooksPath', '/tmp/hooks'],
    ['core.sshCommand', 'evil'],
    ['alias.st', '!evil'],
    ['filter.x.smudge', 'evil'],
    ['include.path', '/tmp/more'],
    ['diff.external', 'evil'],
    ['credential.https://host.example.helper', '!evil'],
    ['url.https://evil.example/.insteadOf', 'https://host.example/'],
    ['submodule.x.update', '!evil'],
    ['gpg.program', 'evil'],
    ['alias.co', 'evil'],
    ['remote.origin.url', '/tmp/bare'],
    ['branch.main.remote', '/tmp/bare'],
    ['branch.main.pushRemote', 'evil'],
    ['remote.pushDefault', 'evil'],
    ['lfs.standalonetransferagent', 'evil'],
    ['lfs.customtransfer.x.path', 'evil'],
    ['http.sslCAPath', '/tmp/ca'],
    ['http.curloptResolve', 'host.example:443:203.0.113.1'],
    ['gc.recentObjectsHook', 'evil'],
  ])('names the git setting %s', async (key, value) => {
    const review = await reviewAfter(() => git('config', key, value));
    expect(review).toContain(`${key.split('.')[0]!.toLowerCase()}.`);
    expect(review).toContain(value);
  });

  test('names a setting whose value was changed, and none that was there before', async () => {
    git('config', 'core.editor', 'vi');
    expect(await reviewAfter(() => git('config', 'user.name', 'x'))).toBe('');
    expect(await reviewAfter(() => git('config', 'core.editor', 'evil'))).toContain('core.editor=evil');
  });

  test('names files that editors, shells and agents act on', async () => {
    ground.file(`${ground.project}/.envrc`, 'before');
    const review = await reviewAfter(() => {
      ground.file(`${ground.project}/.envrc`, 'after');
      ground.file(`${ground.project}/.vscode/tasks.json`);
      ground.file(`${ground.project}/.claude/settings.json`);
      ground.file(`${ground.project}/.git/hooks/post-checkout`, '', 0o755);
      ground.file(`${ground.project}/sallyport.yaml`);
    });
    expect(review).toContain('.envrc was changed');
    for (const name of ['.vscode/tasks.json', '.claude/settings.json', '.git/hooks/post-checkout', 'sallyport.yaml'])
      expect(review).toContain(`${name} was made`);
  });

  test.each([
    ...['.git/commondir', '.git/info/attributes', '.zed/tasks.json', '.mise.local.toml', '.tool-versions'],
    ...['.claude/agents/x.md', '.cursor/rules/x', '.opencode/x', 'x.code-workspace', '.idea/workspace.xml'],
    ...['.cargo/config.toml', '.nvim.lua', 'deep/down/.nvim.lua', 'deep/down/.vscode/tasks.json', 'deep/.envrc'],
  ])('names %s', async (name) => {
    expect(await reviewAfter(() => ground.file(`${ground.project}/${name}`))).toContain(`${name} was made`);
  });

  test('names a nested repository with its settings, also one without a .git', async () => {
    const review = await reviewAfter(() => {
      git('init', '-q', 'vendor/inner');
      git('-C', 'vendor/inner', 'config', 'core.fsmonitor', 'evil-one');
      git('init', '-q', '--bare', 'vendor/plain');
      git('-C', 'vendor/plain', 'config', 'core.fsmonitor', 'evil-two');
    });
    for (const part of ['vendor/inner/.git was made', 'core.fsmonitor=evil-one', 'core.fsmonitor=evil-two'])
      expect(review).toContain(part);
  });

  test('does not let a setting drive the terminal, and tells of settings that are no plain file', async () => {
    const review = await reviewAfter(() => git('config', 'alias.x', '!a\u001b[2Jb'));
    expect(review).not.toContain('\u001b');
    const linked = await reviewAfter(() => {
      execFileSync('mv', ['config', 'real'], { cwd: `${ground.project}/.git` });
      ground.link(`${ground.project}/.git/config`, 'real');
    });
    expect(linked).toContain('.git/config was made: a link to real');
  });

  test('looks into the repositories of submodules too', async () => {
    ground.file(`${ground.project}/.git/modules/sub/HEAD`, 'ref: refs/heads/main');
    const review = await reviewAfter(() => {
      ground.file(`${ground.project}/.git/modules/sub/config`, '[core]\n\tfsmonitor = evil\n');
      ground.file(`${ground.project}/.git/modules/sub/hooks/post-checkout`, '', 0o755);
    });
    expect(review).toContain('core.fsmonitor=evil');
    expect(review).toContain('.git/modules/sub/hooks/post-checkout was made');
  });

  test('says so when there are more submodules than it looks at', async () => {
    for (let i = 0; i < 210; i++) ground.file(`${ground.project}/.git/modules/m${i}/HEAD`, 'ref: refs/heads/main');
    expect(await reviewAfter(() => {})).toContain('not all were searched');
  });

  test('looks into the repository of a worktree too', async () => {
    git('-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'one');
    git('worktree', 'add', '-q', `${ground.top}/tree`);
    const before = await snapshotHostTraps(`${ground.top}/tree`);
    git('config', 'core.fsmonitor', 'evil');
    const review = await reviewHostTraps(before, await snapshotHostTraps(`${ground.top}/tree`, { before }));
    expect(review.join()).toContain('core.fsmonitor=evil');
  });

  test('names a gitlink, without .gitmodules too, and the repository behind it wherever it lies', async () => {
    const review = await reviewAfter(() => {
      git('init', '-q', 'node_modules/deep/inner');
      git('-C', 'node_modules/deep/inner', 'config', 'core.fsmonitor', 'evil');
      git('update-index', '--add', '--cacheinfo', `160000,${'a'.repeat(40)},node_modules/deep/inner`);
    });
    expect(review).toContain('node_modules/deep/inner is, for git, a repository inside this one (a gitlink)');
    expect(review).toContain('Undo: git -C . update-index --force-remove -- node_modules/deep/inner');
    expect(review).toContain('node_modules/deep/inner/.git was made or changed: a repository with core.fsmonitor=evil');
  });

  test('names a repository that was made or changed where it does not look before a run', async () => {
    git('init', '-q', 'node_modules/old');
    git('init', '-q', 'node_modules/changed');
    await new Promise((done) => setTimeout(done, 150));
    const review = await reviewAfter(() => {
      git('init', '-q', 'target/new');
      git('-C', 'node_modules/changed', 'config', 'core.fsmonitor', 'evil');
    });
    expect(review).toContain('target/new/.git');
    expect(review).toContain('node_modules/changed/.git');
    expect(review).toContain('core.fsmonitor=evil');
    expect(review).not.toContain('node_modules/old');
  });

  test.each(['index', 'packed-refs', 'logs/HEAD', 'COMMIT_EDITMSG', 'FETCH_HEAD', 'refs/heads/x', 'logs/refs/heads/x'])(
    'names a link in place of .git/%s',
    async (name) => {
      const review = await reviewAfter(() => {
        execFileSync('rm', ['-f', `${ground.project}/.git/${name}`]);
        ground.link(`${ground.project}/.git/${name}`, '/home/dev/.bashrc');
      });
      expect(review).toContain(`.git/${name} was made: a link to /home/dev/.bashrc`);
      expect(review).toContain(`Undo: rm -- .git/${name}`);
    },
  );

  test.each([
    ...['rebase-merge/git-rebase-todo', 'sequencer/todo', 'sequencer/opts', 'remotes/origin', 'branches/x'],
    ...['info/grafts', 'objects/info/alternates', 'worktrees/x/commondir'],
  ])('names .git/%s', async (name) => {
    const review = await reviewAfter(() => ground.file(`${ground.project}/.git/${name}`, 'exec evil\n'));
    expect(review).toContain(`.git/${name} was made`);
  });

  test('names the programs in the folder that settings name', async () => {
    git('config', 'core.hooksPath', '.githooks');
    git('config', 'filter.x.clean', 'sh tools/clean.sh --fast');
    for (const name of ['.githooks/pre-commit', 'tools/clean.sh', 'tools/other.sh'])
      ground.file(`${ground.project}/${name}`, 'before');
    const review = await reviewAfter(() => {
      for (const name of ['.githooks/pre-commit', 'tools/clean.sh', 'tools/other.sh'])
        ground.file(`${ground.project}/${name}`, 'after');
    });
    for (const name of ['.githooks/pre-commit', 'tools/clean.sh']) expect(review).toContain(`${name} was changed`);
    expect(review).not.toContain('other.sh');
  });

  test('a folder that became a repository by what was put into it is not proposed for removal', async () => {
    ground.file(`${ground.project}/src/index.ts`);
    const review = await reviewAfter(() => {
      for (const folder of ['src', '.']) {
        ground.file(`${ground.project}/${folder}/HEAD`, 'ref: refs/heads/main');
        for (const part of ['objects', 'refs']) ground.folder(`${ground.project}/${folder}/${part}`);
        ground.file(`${ground.project}/${folder}/config`, '[core]\n\tfsmonitor = evil\n');
      }
    });
    expect(review).toContain('src was made: a repository with core.fsmonitor=evil. Undo: rm -- src/HEAD');
    expect(review).toContain('Undo: rm -- HEAD');
    expect(review).toContain('core.fsmonitor=evil was set in config');
    expect(review).not.toContain('rm -rf');
  });

  test('names settings and files that were taken away', async () => {
    git('config', 'transfer.fsckObjects', 'true');
    ground.file(`${ground.project}/.pre-commit-config.yaml`);
    const review = await reviewAfter(() => {
      git('config', '--unset', 'transfer.fsckObjects');
      execFileSync('rm', [`${ground.project}/.pre-commit-config.yaml`]);
    });
    expect(review).toContain('transfer.fsckobjects=true was removed from .git/config');
    expect(review).toContain('.pre-commit-config.yaml was removed. Undo: git checkout -- .pre-commit-config.yaml');
  });

  test('is one screen: the worst first, folders of programs as one, the rest as a number', async () => {
    const review = await reviewAfter(() => {
      for (let i = 0; i < 40; i++) ground.file(`${ground.project}/.idea/file-${i}`);
      for (let i = 0; i < 40; i++) ground.file(`${ground.project}/sub-${i}/.envrc`);
      git('config', 'core.fsmonitor', 'evil');
    });
    const lines = review.split('\n');
    expect(lines.length).toBeLessThan(20);
    expect(lines[0]).toContain('core.fsmonitor=evil was set in .git/config');
    expect(review).toContain('and 36 more were made');
    expect(review).toMatch(/and \d+ more that matter less/);
  });

  test('gives commands that a shell takes as they are meant', async () => {
    const review = await reviewAfter(() => {
      ground.file(`${ground.project}/$(touch gone) 'x'/.envrc`);
      git('config', 'alias.x', "!a 'b' $(touch gone)");
      ground.file(`${ground.project}/e\u202evil/.envrc`);
    });
    const undo = [...review.matchAll(/Undo: (.*)$/gm)].map(([, command]) => command!);
    expect(undo).toHaveLength(2);
    for (const command of undo) execFileSync('sh', ['-c', command], { cwd: ground.project });
    const left = await reviewAfter(() => {});
    expect(left).toBe('');
    expect(existsSync(`${ground.project}/gone`)).toBe(false);
    expect(existsSync(`${ground.project}/$(touch gone) 'x'/.envrc`)).toBe(false);
    expect(() => git('config', 'alias.x')).toThrow();
    expect(review).not.toContain('\u202e');
  });

  test.each([
    ['core.editor', 'evil', 'vi'],
    ['core.hooksPath', 'evil', null],
  ])('the command for %s gives back what was there', async (key, value, earlier) => {
    if (earlier !== null) git('config', key, earlier);
    const text = readFileSync(`${ground.project}/.git/config`, 'utf8');
    const review = await reviewAfter(() => git('config', key, value));
    execFileSync('sh', ['-c', /Undo: (.*)$/m.exec(review)![1]!], { cwd: ground.project });
    const settings = (from: string) => from.replace(/^\[core\]\n(?!\t)/gm, '');
    expect(settings(readFileSync(`${ground.project}/.git/config`, 'utf8'))).toBe(settings(text));
  });

  test('for root, names setuid and setgid files, and what became one', async () => {
    ground.file(`${ground.project}/tool`, 'x', 0o755);
    const before = await snapshotHostTraps(ground.project, { asRoot: true });
    ground.file(`${ground.project}/deep/made`, 'x');
    chmodSync(`${ground.project}/deep/made`, 0o4755);
    chmodSync(`${ground.project}/tool`, 0o2755);
    const review = await reviewHostTraps(before, await snapshotHostTraps(ground.project, { before, asRoot: true }));
    expect(review.join('\n')).toContain('deep/made: anyone who runs it gets the rights of its owner');
    expect(review.join('\n')).toContain('Undo: chmod ug-s -- tool');
  });
});
