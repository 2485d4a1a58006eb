// `git status` looks into every path that the index calls another repository, and follows the settings there. A sandbox can make
// both: the review names them, also without .gitmodules and in folders that are not searched before a run.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTraceGround, type TraceGround } from '../../support/trace-ground.ts';

let ground: TraceGround;
beforeAll(() => {
  ground = makeTraceGround();
});
afterAll(() => ground.remove());

test.each(['vendor/inner', 'node_modules/inner'])(
  'a gitlink to %s and the repository there are named',
  async (place) => {
    const { output, review } = await ground.inside(`
set -e
git init -q ${place}
git -C ${place} commit -q --allow-empty -m x
git -C ${place} config core.fsmonitor "$PWD/tool.sh"
git update-index --add --cacheinfo 160000,$(git -C ${place} rev-parse HEAD),${place}
echo DONE`);
    expect(output).toContain('DONE');
    expect(review).toContain(`${place} is, for git, a repository inside this one (a gitlink)`);
    expect(review).toMatch(new RegExp(`${place}/\\.git was made.*core\\.fsmonitor=`));
    const undo = /Undo: (git -C \S+ update-index .*)$/m.exec(review)![1]!;
    // The trap is real, and the command takes it back.
    ground.git('status');
    expect(ground.ran()).toBe(true);
    ground.git('-c', `alias.undo=!${undo}`, 'undo');
    ground.git('status');
    expect(ground.ran()).toBe(false);
  },
);
