// Files that editors, shells and agents act on, links in .git that git on the host writes through, a rebase that was left half
// way, setuid files of root: a sandbox can make them, and each is named after the run.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
});
afterAll(() => ground.remove());

const left = [
  ...['.zed/tasks.json', '.mise.toml', '.tool-versions', '.claude/settings.json', '.cursor/rules', '.opencode/x'],
  ...['x.code-workspace', '.idea/workspace.xml', '.cargo/config.toml', '.nvim.lua'],
];

test.each(['.', 'deep/down'])('files in %s are named, and a file of another name is not', async (folder) => {
  const names = [...left, 'README.md', 'src/index.ts'].map((name) => join(folder, name));
  const { review } = await ground.inside(
    names.map((name) => `mkdir -p "$(dirname ${name})"; echo x > ${name}`).join('\n'),
  );
  for (const name of left) expect(review).toContain(`${join(folder, name)} was made`);
  expect(review).not.toContain('README');
  expect(review).not.toContain('index.ts');
  // One screen, and each line says how to take it back.
  expect(review.trim().split('\n').length).toBeLessThan(20);
  expect(review.match(/Undo: rm -- /g)).toHaveLength(left.length);
});

test.each(['COMMIT_EDITMSG', 'FETCH_HEAD', 'logs/HEAD', 'packed-refs'])(
  'a link in place of .git/%s that leads to a file of the host is named',
  async (name) => {
    const victim = join(ground.project, '../victim');
    writeFileSync(victim, 'mine\n');
    const { review } = await ground.inside(`rm -f .git/${name}; ln -s ${victim} .git/${name}`);
    expect(review).toContain(`.git/${name} was`);
    expect(review).toContain(`a link to ${victim}`);
    expect(readFileSync(victim, 'utf8')).toBe('mine\n');
    rmSync(join(ground.project, '.git', name));
    ground.git('update-ref', '-m', 'x', 'HEAD', 'HEAD');
  },
);

test('a rebase that was left with commands to run is named', async () => {
  const todo = 'GIT_SEQUENCE_EDITOR="printf \'break\\nexec ./tool.sh\\n\' >" git rebase -q -i HEAD~1';
  const { review } = await ground.inside(`git commit -q --allow-empty -m two; ${todo}`);
  expect(review).toContain('.git/rebase-merge/git-rebase-todo was made: git rebase --continue on this host would');
  ground.git('rebase', '--continue');
  expect(ground.ran(), 'the trap is real').toBe(true);
});

test('a run by root makes no device and gives no capability, and setuid files are named', async () => {
  const { output, review } = await ground.inside(`
cp /bin/true plain; cp /bin/true special; chmod 6755 special
mknod disk b 8 0 && echo DEVICE
python3 -c 'import os; os.setxattr("plain", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))' && echo CAPABILITY
echo tried`);
  expect(output).toContain('tried');
  expect(output).not.toMatch(/DEVICE|CAPABILITY/);
  expect(review).toContain(
    'special: anyone who runs it gets the rights of its owner or group (setuid or setgid). Undo: chmod ug-s -- special',
  );
  expect(review).not.toContain('plain');
});

test('more submodules than are looked at are said to be, and the next sandbox can write none', async () => {
  const { review } = await ground.inside(
    'for i in $(seq 230); do mkdir -p .git/modules/m$i; echo "ref: refs/heads/main" > .git/modules/m$i/HEAD; done',
  );
  expect(review).toContain('not all were searched');
  const next = await ground.inside(
    'for i in 1 99 230; do echo x > .git/modules/m$i/config && echo DONE; done; mkdir .git/modules/new && echo DONE',
  );
  expect(next.output).toContain('Read-only file system');
  expect(next.output).not.toContain('DONE');
});
