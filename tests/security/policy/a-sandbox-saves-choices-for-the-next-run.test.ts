// `run:` of a configuration lets files of the host in. A sandbox that could write one would choose what the next sandbox sees.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

const user = 'an ordinary user';
/** As a user whose only configuration lies in the project. */
const env = { SALLYPORT_CONFIG: '' };
let ground: RunGround;
let file: string;
let letters: string;
const own = 'version: 1\nallow: []\n';

beforeAll(() => {
  ground = makeRunGround({ allow: [] });
  file = join(ground.projectOf(user), 'sallyport.yaml');
  letters = join(ground.homeOf(user), 'letters');
  mkdirSync(letters);
  writeFileSync(join(letters, 'one'), 'a private letter\n');
  execFileSync('chown', ['-R', '54321:54321', letters]);
});
afterAll(() => ground.remove());
beforeEach(() => rmSync(file, { force: true }));

const run = (script: string, options: readonly string[] = []) =>
  ground.sallyport(user, ['run', ...options, '--', 'sh', '-c', script], { env });
const read = 'cat $HOME/letters/one';
const widened = () => `${own}run: { read_only: ["${letters}"] }\n`;

test('what the user saved is let in, unless the command line says to take none of it', async () => {
  writeFileSync(file, widened());
  expect((await run(read)).stdout).toBe('a private letter\n');
  expect((await run(read, ['--no-saved'])).stdout).toBe('');
});

test('a sandbox can neither write it nor put one there', async () => {
  const attack = `printf '%s' '${widened()}' > sallyport.yaml; printf '%s' '${widened()}' > n; mv -f n sallyport.yaml; ${read}`;
  expect((await run(attack)).stdout).toBe('');
  expect((await run(read)).stdout).toBe('');
  writeFileSync(file, own);
  expect((await run(attack)).stdout).toBe('');
  expect((await run(read)).stdout).toBe('');
});

test('one that it wrote where the guard had fallen is not followed, and nothing of it is let in', async () => {
  writeFileSync(file, own);
  const go = join(ground.projectOf(user), 'go');
  const script = `touch ready; until [ -e go ]; do sleep 0.05; done; cp widened sallyport.yaml`;
  writeFileSync(join(ground.projectOf(user), 'widened'), widened());
  const first = ground.start(user, ['run', '--', 'sh', '-c', script], { env });
  const isReady = () => execFileSync('ls', [ground.projectOf(user)], { encoding: 'utf8' }).includes('ready');
  await eventually(isReady, () => first.output());
  // As editors save: a rename over it takes the sandbox's own mount away.
  const edited = join(ground.projectOf(user), 'edited');
  writeFileSync(edited, own);
  execFileSync('chown', ['54321:54321', edited]);
  renameSync(edited, file);
  writeFileSync(go, '');
  await first.ended;
  const { code, stdout, stderr } = await run(read);
  expect(stdout).toBe('');
  expect(code).not.toBe(0);
  expect(stderr).toContain('sallyport config approve');
  // The attack was one: the file is what the sandbox made of it, and a user who approves it has it.
  await ground.sallyport(user, ['config', 'approve'], { env });
  expect((await run(read)).stdout).toBe('a private letter\n');
});
