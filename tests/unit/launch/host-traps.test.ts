import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reviewHostTraps, snapshotHostTraps } from '../../../src/launch/host-traps.ts';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

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
  return reviewHostTraps(before, await snapshotHostTraps(ground.project)).join('\n');
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
    expect(linked).toContain('include.path');
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
    expect(await reviewAfter(() => {})).toContain('not all was searched');
  });

  test('looks into the repository of a worktree too', async () => {
    git('-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'one');
    git('worktree', 'add', '-q', `${ground.top}/tree`);
    const before = await snapshotHostTraps(`${ground.top}/tree`);
    git('config', 'core.fsmonitor', 'evil');
    expect(reviewHostTraps(before, await snapshotHostTraps(`${ground.top}/tree`)).join()).toContain(
      'core.fsmonitor=evil',
    );
  });
});
