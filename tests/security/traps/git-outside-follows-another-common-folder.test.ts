// `.git/commondir` sends git to another folder for its settings and hooks: around hooks that are read-only.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
});
afterAll(() => ground.remove());

/** A whole git folder of its own beside the real one, with settings and a hook that run the program. */
const elsewhere = `
cp -r .git elsewhere
rm -f elsewhere/commondir elsewhere/config
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "%s"\\n' "$PWD/tool.sh" > elsewhere/config
mkdir -p elsewhere/hooks
printf '#!/bin/sh\\nexec "%s" < /dev/null\\n' "$PWD/tool.sh" > elsewhere/hooks/post-commit
chmod 755 elsewhere/hooks/post-commit
`;

test.each([
  'echo ../elsewhere > .git/commondir',
  'rm -f .git/commondir; echo ../elsewhere > .git/commondir',
  'echo ../elsewhere > .git/x; mv -f .git/x .git/commondir',
  'ln -sf ../other .git/commondir',
  'mv .git .git-old; cp -r elsewhere .git; echo ../elsewhere > .git/commondir',
])('%s: git on the host runs nothing of it', async (attempt) => {
  const { output } = await ground.inside(`${elsewhere}\n${attempt} && echo DONE`);
  expect(output).not.toContain('DONE');
  expect(ground.git('status')).toContain('On branch main');
  ground.git('commit', '-q', '--allow-empty', '-m', 'mine');
  expect(ground.ran()).toBe(false);
  expect(existsSync(`${ground.project}/.git/commondir`), 'what was mounted over is taken away').toBe(false);
});

test('the attempt is a real one: by hand on the host it runs', () => {
  ground.git('-c', 'alias.plant=!echo ../elsewhere > .git/commondir', 'plant');
  ground.git('status');
  expect(ground.ran()).toBe(true);
});
