// The settings of a repository, and the policy beside it, are read-only whatever starts the sandbox: a container, plain unshare, bubblewrap of a user who is
// not root.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDockerd, type TestDockerd } from '../../support/dockerd.ts';
import { makeRunGround, type RunGround, type RunUser, runUsers } from '../../support/run-ground.ts';

let dockerd: TestDockerd;
let ground: RunGround;
beforeAll(async () => {
  ground = makeRunGround({ allow: [] });
  for (const user of runUsers) {
    execFileSync('git', ['init', '-q', ground.projectOf(user)]);
    if (user !== 'root') execFileSync('chown', ['-R', '54321:54321', ground.projectOf(user)]);
  }
  dockerd = await startDockerd();
  await dockerd.importImage('tools:1', { programs: ['sh', 'cat', 'rm', 'mv', 'cp', 'mkdir'] });
}, 120_000);
afterAll(async () => {
  await dockerd?.stop();
  ground.remove();
});

const script = `
exec 2>&1
for name in config config.worktree commondir info/attributes; do
  { echo evil > .git/$name; } 2>/dev/null && echo "DONE write $name"
  rm -f .git/$name && echo "DONE rm $name"
  echo evil > .git/other; mv -f .git/other .git/$name && echo "DONE mv $name"
done
mv .git/info .git/old && echo DONE mv info
mv .git .git-old && echo DONE mv
{ echo evil > sallyport.yaml; } 2>/dev/null && echo DONE write policy
rm -f sallyport.yaml && echo DONE rm policy
echo evil > evil.yaml; mv -f evil.yaml sallyport.yaml && echo DONE mv policy
echo note > .git/description && echo WORKS`;

const launchers: readonly (readonly [RunUser, string, readonly string[]])[] = [
  ['root', 'docker', ['--image', 'tools:1']],
  ['an ordinary user', 'unshare', ['--launcher', 'unshare']],
  ['an ordinary user', 'bubblewrap', []],
  ['an ordinary user', 'namespaces', ['--launcher', 'namespaces']],
];

describe.each(launchers)('as %s with %s', (user, _name, options) => {
  test('none of them can be written, removed or replaced, and what was made for that is gone afterwards', async () => {
    const project = ground.projectOf(user);
    const before = readFileSync(join(project, '.git/config'), 'utf8');
    const env = { DOCKER_HOST: dockerd.environment.DOCKER_HOST! };
    const { stdout } = await ground.sallyport(user, ['run', ...options, '--', 'sh', '-c', script], { env });
    expect(stdout).toContain('WORKS');
    expect(stdout).not.toContain('DONE');
    expect(readFileSync(join(project, '.git/config'), 'utf8')).toBe(before);
    for (const name of ['config.worktree', 'commondir', 'info/attributes'])
      expect(existsSync(join(project, '.git', name)), name).toBe(false);
    expect(existsSync(join(project, 'sallyport.yaml'))).toBe(false);
  });
});
