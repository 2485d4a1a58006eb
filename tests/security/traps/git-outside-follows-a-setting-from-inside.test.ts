// A setting of git that a sandbox writes into the repository is one that git on the host follows: it cannot write any, for a
// moment or for good. Where its user allows it, everyone is named.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
  ground.git('init', '-q', '--bare', 'store.git');
  ground.git('remote', 'add', 'origin', 'https://git.example.com/owner/name');
});
afterAll(() => ground.remove());

const settings = [
  ['alias.st', '!evil'],
  ['lfs.customtransfer.x.path', 'evil'],
  ['lfs.standalonetransferagent', 'x'],
  ['http.sslCAPath', '/tmp/ca'],
  ['http.curloptResolve', 'git.example.com:443:203.0.113.1'],
  ['gc.recentObjectsHook', 'evil'],
  ['branch.main.pushRemote', 'evil'],
  ['remote.pushDefault', 'evil'],
] as const;

describe('the settings of a repository', () => {
  test.each([
    'git config core.fsmonitor "$PWD/tool.sh"',
    'printf "[core]\\n\\tfsmonitor = $PWD/tool.sh\\n" >> .git/config',
    'cp .git/config .git/x; git config --file .git/x core.fsmonitor "$PWD/tool.sh"; mv -f .git/x .git/config',
    'rm -f .git/config',
    'cp .git/config .git/x; ln -sf x .git/config',
    'git config --file .git/config.worktree core.fsmonitor "$PWD/tool.sh"',
    'mkdir x; mv .git/info x/; mkdir .git/info; echo "* filter=x" > .git/info/attributes',
    'echo "* filter=x" > .git/info/attributes',
    'mv .git old; cp -r old .git; git config core.fsmonitor "$PWD/tool.sh"',
  ])('%s: is refused, and changes nothing', async (attempt) => {
    const before = ground.read('.git/config');
    const { output } = await ground.inside(`set -e\n${attempt}\necho DONE`);
    expect(output).not.toContain('DONE');
    expect(output).toMatch(/busy|Read-only file system/);
    expect(ground.read('.git/config')).toBe(before);
    ground.git('status');
    expect(ground.ran()).toBe(false);
  });

  test('that the repository includes from another file cannot be changed there either, and that file is not let in', async () => {
    ground.git('config', 'include.path', '../team.gitconfig');
    ground.git('config', '--add', 'include.path', '../../secret.gitconfig');
    writeFileSync(`${ground.project}/team.gitconfig`, '[my]\n\tkey = value\n');
    writeFileSync(`${ground.project}/../secret.gitconfig`, '[my]\n\tsecret = value\n');
    const { output } = await ground.inside(
      'printf "[core]\n\tfsmonitor = $PWD/tool.sh\n" >> team.gitconfig && echo DONE; cat ../secret.gitconfig',
    );
    expect(output).toContain('Read-only file system');
    expect(output).not.toMatch(/DONE|secret = value/);
    ground.git('status');
    expect(ground.ran()).toBe(false);
    ground.git('config', '--unset-all', 'include.path');
  });

  test('a remote stays where it leads: no hook of a planted repository runs', async () => {
    const plant =
      'printf "#!/bin/sh\\nexec $PWD/tool.sh </dev/null\\n" > evil.git/hooks/post-receive; chmod 755 evil.git/hooks/*';
    const { output, review } = await ground.inside(
      `git init -q --bare evil.git; ${plant}; git config remote.origin.url "$PWD/evil.git" && echo DONE`,
    );
    expect(output).not.toContain('DONE');
    expect(review).toContain('evil.git');
    ground.git('push', 'origin', 'main');
    expect(ground.ran()).toBe(false);
    // The same by hand runs it.
    ground.git('push', `${ground.project}/evil.git`, 'main');
    expect(ground.ran()).toBe(true);
  });

  test('that are set and taken back meanwhile run nothing of git that the host calls all the time', async () => {
    const prompt = spawn('sh', ['-c', 'while :; do git status >/dev/null 2>&1; done'], { cwd: ground.project });
    const flicker = 'git config core.fsmonitor "$PWD/tool.sh"; git config --unset core.fsmonitor';
    const { output } = await ground.inside(`for i in 1 2 3 4 5 6 7 8 9 10; do ${flicker}; done`);
    prompt.kill();
    expect(output).toContain('busy');
    expect(ground.ran()).toBe(false);
  });

  test('are written where the user allows it, and then each is named with what takes it back', async () => {
    const script = settings.map(([key, value]) => `git config ${key} '${value}'`).join(' && ');
    const { output, review } = await ground.inside(`${script} && echo DONE`, ['--git-config', 'writable']);
    expect(output).toContain('DONE');
    for (const [key, value] of settings) expect(review.toLowerCase()).toContain(`${key}=${value}`.toLowerCase());
    for (const line of review.matchAll(/^.*(git config --file .*)$/gm))
      ground.git('-c', `alias.undo=!${line[1]}`, 'undo');
    const after = ground.git('config', '--local', '--list');
    for (const [key] of settings) expect(after).not.toContain(key.toLowerCase());
    expect(after).toContain('remote.origin.url=https://git.example.com/owner/name');
  });
});
