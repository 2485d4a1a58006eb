// A file with a credential is hidden in the project, by its name and that of its folder. A sandbox that renames the folder, or moves
// it to where nobody searches, would have it in the open in the next run.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

let ground: RunGround;
let project: string;

beforeAll(() => {
  ground = makeRunGround({});
  project = ground.projectOf('root');
});
afterAll(() => ground.remove());
beforeEach(() => {
  for (const name of ['deploy', 'node_modules', 'moved']) rmSync(join(project, name), { recursive: true, force: true });
  for (const [name, text] of [
    ['deploy/keys/.aws/credentials', 'aws_secret_access_key = the-secret-of-the-host'],
    ['deploy/keys/notes.txt', 'harmless'],
    ['node_modules/x/index.js', ''],
  ] as const) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
});

const run = (script: string) => ground.sallyport('root', ['run', '--', 'sh', '-c', script]);

test.each([
  {
    what: 'its folder is renamed',
    from: 'deploy/keys/.aws',
    to: 'deploy/keys/aws',
    found: 'deploy/keys/aws/credentials',
  },
  {
    what: 'a folder above is moved to where nobody searches',
    from: 'deploy/keys',
    to: 'node_modules/keys',
    found: 'node_modules/keys/.aws/credentials',
  },
  {
    what: 'the outermost folder is',
    from: 'deploy',
    to: 'node_modules/deploy',
    found: 'node_modules/deploy/keys/.aws/credentials',
  },
])('$what: the first sandbox cannot, and the next one does not read it', async ({ from, to, found }) => {
  const first = await run(`perl -e 'rename "${from}", "${to}" or die "$!\\n"'`);
  const next = await run(`cat ${found}; cat deploy/keys/.aws/credentials; echo done`);
  expect(next.stdout).not.toContain('the-secret-of-the-host');
  expect(next.stdout).toBe('done\n');
  expect(first.stderr).toMatch(/Device or resource busy|Invalid cross-device link/);
});

test('what lies beside it is written, renamed and removed as before', async () => {
  const script = `cd deploy/keys && cat notes.txt && echo more > new && mv new newer && mv newer ../newer && mkdir a && mv a b && rmdir b &&
    rm notes.txt ../newer && ls -A .. . && mkdir ../../moved && mv ../../moved ../../node_modules/moved && echo done`;
  const ran = await run(script);
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^harmless[\s\S]*\.aws[\s\S]*done\n$/) });
});
