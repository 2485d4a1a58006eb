// The daily work of git in a sandbox that cannot write `.git/config`: what works as ever, what works by a configuration of the
// sandbox's own, and what its user may allow.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../support/trace-ground.ts';

let ground: TraceGround;
let settings: string;

/** Each step says how it ended. */
const steps = (...commands: readonly string[]): string =>
  commands.map((command) => `${command}; echo "[$?] ${command.replaceAll('"', '')}"`).join('\n');

beforeAll(() => {
  ground = makeTraceGround();
  ground.git('init', '-q', '--bare', 'store.git');
  ground.git('branch', 'theirs');
  ground.git('remote', 'add', 'origin', `${ground.project}/store.git`);
  ground.git('push', '-q', '-u', 'origin', 'main', 'theirs');
  ground.git('branch', '-D', 'theirs');
  ground.git('clone', '-q', 'store.git', 'lib-source');
  ground.git('submodule', '--quiet', 'add', './lib-source', 'lib');
  ground.git('commit', '-q', '-m', 'a submodule');
  ground.git('submodule', '--quiet', 'deinit', '-f', 'lib');
  ground.git('config', '--remove-section', 'submodule.lib');
  settings = ground.read('.git/config');
});
afterAll(() => ground.remove());

const work = [
  'git checkout -q -b topic origin/theirs',
  'git commit -q --allow-empty -m work',
  'git push -q -u origin topic',
  'git push -q',
  'git pull -q origin topic',
  'git fetch -q',
  'git checkout -q theirs',
  'git switch -q main',
  'git pull -q',
  'git rebase -q origin/main',
  'git worktree add -q tree -b beside',
  'git -C tree commit -q --allow-empty -m beside',
  'git worktree remove tree',
  'echo more >> src/file',
  'git stash -q',
  'git stash pop -q',
  'git commit -q -a -m more',
  'git rebase -q -f HEAD~1',
  'git merge -q beside -m merged',
  'git cherry-pick --allow-empty topic',
  'git tag v1',
  'git push -q origin v1',
  'git branch -q -D beside',
  'git reset -q --hard HEAD~1',
  'git gc -q',
  'git status -s',
];

test('ordinary work ends well, and changes no setting', async () => {
  const { output, review } = await ground.inside(steps(...work));
  for (const command of work) expect(output).toContain(`[0] ${command}`);
  expect(ground.read('.git/config')).toBe(settings);
  expect(review).toBe('');
  expect(ground.git('ls-remote', '--heads', 'origin', 'topic')).toContain('refs/heads/topic');
  expect(ground.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(ground.git('fsck')).not.toContain('error');
});

test('what must be noted is noted in a configuration of the sandbox’s own', async () => {
  const own = [
    'git config --global remote.fork.url "$PWD/store.git"',
    'git config --global remote.fork.fetch "+refs/heads/*:refs/remotes/fork/*"',
    'git fetch -q fork',
    'git config --global branch.main.merge refs/heads/main',
    'git config --global submodule.lib.url "$PWD/lib-source"',
    'git config --global submodule.lib.active true',
    'git -c protocol.file.allow=always submodule --quiet update --init',
  ];
  const { output } = await ground.inside(`${steps(...own)}\ngit branch -r; ls lib/src`);
  for (const command of own)
    expect(output).toContain(`[0] ${command.replaceAll('"', '').replaceAll('$PWD', ground.project)}`);
  expect(output).toContain('fork/theirs');
  expect(output).toContain('file');
  expect(ground.read('.git/config')).toBe(settings);
});

test('what git cannot do without is refused in its own words', async () => {
  const refused = ['git config my.key value', 'git remote add other https://git.example.com/o/n'];
  const { output } = await ground.inside(steps(...refused));
  expect(output).toContain('could not write config file');
  for (const command of refused) expect(output).toMatch(new RegExp(`\\[[1-9]\\d*\\] ${command}`));
});

test('with --git-config writable all of it works as on the host', async () => {
  const all = [
    'git checkout -q -b tracked origin/theirs',
    'git rev-parse -q --abbrev-ref @{upstream}',
    'git commit -q --allow-empty -m x',
    'git branch -q -m renamed',
    'git remote add other https://git.example.com/o/n',
    'git config my.key value',
    'git push -q -u origin renamed',
    'git push -q',
  ];
  const { output, review } = await ground.inside(steps(...all), ['--git-config', 'writable']);
  for (const command of all) expect(output).toContain(`[0] ${command}`);
  expect(ground.git('config', 'branch.renamed.merge')).toBe('refs/heads/renamed\n');
  expect(ground.git('symbolic-ref', 'HEAD')).toBe('refs/heads/renamed\n');
  expect(review).toContain('remote.other.url=https://git.example.com/o/n');
});
