// What a sandbox puts into the cache of a package manager would be installed by whoever reads it next. It is read by the next sandbox
// of the same project alone, and only when that was asked for: by no other project, and never on the host.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRunGround, type RunGround, runUsers } from '../../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
  for (const user of runUsers) {
    const home = ground.homeOf(user);
    for (const folder of ['.npm/_cacache', 'other']) mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, '.npm/_cacache/mine'), 'mine\n');
    writeFileSync(join(home, '.npm/token'), 'a login\n');
    if (user !== 'root') execFileSync('chown', ['-R', '54321:54321', home]);
  }
});
afterAll(() => ground.remove());

const cache = '~/.npm/_cacache';
const poison = `mkdir -p ${cache}; echo poison > ${cache}/planted; echo poison > ${cache}/mine; ln -s /etc ${cache}/link; echo DONE`;
const look = `cat ${cache}/planted ${cache}/mine ~/.npm/token 2>/dev/null; echo LOOKED`;

test.each(runUsers)('as %s: one that is kept for the project is seen by no other, nor by the host', async (user) => {
  const run = (script: string, more: readonly string[] = [], cwd?: string) =>
    ground.sallyport(user, ['run', ...more, '--', 'sh', '-c', script], cwd === undefined ? {} : { cwd });
  const own = ['--cache', 'npm=project'];
  const other = join(ground.homeOf(user), 'other');
  expect((await run(poison, own)).stdout).toBe('DONE\n');
  expect((await run(look, own)).stdout).toBe('poison\npoison\nLOOKED\n');
  expect((await run(look, own, other)).stdout).toBe('LOOKED\n');
  expect((await run(look)).stdout).toBe('LOOKED\n');
  const mine = join(ground.homeOf(user), '.npm/_cacache');
  expect(readdirSync(mine)).toEqual(['mine']);
  expect(readFileSync(join(mine, 'mine'), 'utf8')).toBe('mine\n');
});

test("the user's own is read, in a copy that goes with the sandbox", async () => {
  const user = 'an ordinary user';
  const run = (script: string) => ground.sallyport(user, ['run', '--cache', 'npm=read-only', '--', 'sh', '-c', script]);
  expect((await run(look)).stdout).toBe('mine\nLOOKED\n');
  expect((await run(poison)).stdout).toBe('DONE\n');
  expect((await run(look)).stdout).toBe('mine\nLOOKED\n');
  const mine = join(ground.homeOf(user), '.npm/_cacache');
  expect(readFileSync(join(mine, 'mine'), 'utf8')).toBe('mine\n');
  expect(existsSync(join(mine, 'planted'))).toBe(false);
});

test('what is no cache, or no way to have one, is refused in words', async () => {
  const { code, stderr } = await ground.sallyport('root', ['run', '--cache', 'npm=shared', '--', 'true']);
  expect(code).toBe(125);
  expect(stderr).toContain('--cache "npm=shared" is not NAME=KIND');
});
