// A sandbox leaves a link where its user will name something for the next one: --mount ./data then lets in any folder of the
// host that is on no list, or the hooks of the repository for writing. No race is needed, the link has all the time.
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

let ground: RunGround;
let project: string;
let home: string;

beforeAll(() => {
  ground = makeRunGround({});
  project = ground.projectOf('root');
  home = ground.homeOf('root');
  mkdirSync(join(home, 'private'), { mode: 0o700 });
  writeFileSync(join(home, 'private/secret'), 'the secret of the host');
  mkdirSync(join(project, '.git/hooks'), { recursive: true });
  mkdirSync(join(project, 'data'));
});
afterAll(() => ground.remove());
beforeEach(() => rmSync(join(project, 'data'), { recursive: true, force: true }));

const grab = ['--', 'sh', '-c', 'cat /mnt/it/secret; echo planted > /mnt/it/planted; echo done'];
const second = (...options: string[]) => ground.sallyport('root', ['run', ...options, ...grab]);

test.each([
  {
    what: 'a folder of the host',
    link: '../private',
    option: '--mount',
    named: './data',
    planted: () => join(home, 'private'),
  },
  {
    what: 'a folder of the host, read-only',
    link: '../private',
    option: '--ro',
    named: './data',
    planted: () => join(home, 'private'),
  },
  { what: 'a folder above', link: '..', option: '--ro', named: './data/private', planted: () => join(home, 'private') },
  {
    what: 'the hooks of the repository',
    link: '.git/hooks',
    option: '--mount',
    named: './data',
    planted: () => join(project, '.git/hooks'),
  },
])('$what', async ({ link, option, named, planted }) => {
  const first = await ground.sallyport('root', ['run', '--', 'ln', '-s', link, 'data']);
  expect(first.code).toBe(0);
  const ran = await second(option, `${named}:/mnt/it`);
  expect(ran.stdout).toBe('');
  expect(ran.code).toBe(125);
  expect(ran.stderr).toMatch(/data\S* leads to \S+ through a link in a folder that sandboxes can write to/);
  expect(ran.stderr).toContain('name it: ');
  expect(readdirSync(planted())).not.toContain('planted');
});

test('a folder in its place, a link of the user elsewhere, and the place itself are let in', async () => {
  expect((await ground.sallyport('root', ['run', '--', 'mkdir', 'data'])).code).toBe(0);
  symlinkSync(join(home, 'private'), join(home, 'own'));
  symlinkSync(project, join(home, 'to-project'));
  for (const source of ['./data', '../own', '../to-project/data', '../private'])
    expect(await second('--ro', `${source}:/mnt/it`), source).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/done\n$/),
    });
});
