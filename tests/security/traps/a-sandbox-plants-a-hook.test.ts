// A sandbox that can write the repository must not leave a hook in it: the user's own git would run it, on the host.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

let ground: MountGround;
let output: string;
beforeAll(async () => {
  ground = makeMountGround();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ground.project, stdio: 'ignore' });
  git('init', '-q');
  git('init', '-q', 'vendor/inner');
  ground.file('home/dev/project/.git/modules/sub/HEAD', 'ref: refs/heads/main');
  ground.folder('home/dev/project/.git/modules/sub/hooks');
  const script = [
    'try() { if "$@"; then echo "DONE $1 $2"; else echo "refused $1 $2"; fi; }',
    'hook() { echo evil > "$1/post-checkout"; }',
    'try hook .git/hooks',
    'try mv .git/hooks .git/old',
    'try rmdir .git/hooks',
    'try rm -rf .git/hooks',
    'try mv .git .git-old',
    'git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m work && git branch topic && git stash list && echo WORKS',
    'try hook vendor/inner/.git/hooks',
    'try mv vendor vendor-old',
    'try hook .git/modules/sub/hooks',
    'try mv .git/modules .git/modules-old',
  ].join('\n');
  output = (await ground.run(script)).output;
});
afterAll(() => ground.remove());

test('no hook can be written, moved or put in place of the folder', () => {
  expect(output).not.toContain('DONE hook .git/hooks');
  for (const attempt of ['hook .git/hooks', 'mv .git/hooks', 'rmdir .git/hooks', 'rm -rf', 'mv .git'])
    expect(output).toContain(`refused ${attempt}`);
  expect(readdirSync(`${ground.project}/.git/hooks`)).not.toContain('post-checkout');
  expect(existsSync(`${ground.project}/.git-old`)).toBe(false);
});

test('nor in a repository further down, nor in that of a submodule', () => {
  for (const attempt of ['hook vendor/inner', 'mv vendor', 'hook .git/modules/sub', 'mv .git/modules'])
    expect(output).toContain(`refused ${attempt}`);
  expect(readdirSync(`${ground.project}/vendor/inner/.git/hooks`)).not.toContain('post-checkout');
  expect(readdirSync(`${ground.project}/.git/modules/sub/hooks`)).toEqual([]);
});

test('git itself works there as ever', () => {
  expect(output).toContain('WORKS');
  const log = execFileSync('git', ['log', '--format=%s'], { cwd: ground.project, encoding: 'utf8' });
  expect(log).toBe('work\n');
});

test('where the repository has no folder of hooks, none with hooks in it can be made', async () => {
  ground.folder('home/dev/project/without/.git');
  const workingDirectory = `${ground.project}/without`;
  const run = await ground.run('mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout && echo DONE', {
    workingDirectory,
  });
  expect(run.output).not.toContain('DONE');
  expect(readdirSync(`${workingDirectory}/.git/hooks`)).toEqual([]);
});
