import { describe, expect, test } from 'vitest';
import { WorkBudget } from '../../../../../src/protocols/git/objects/work-budget.ts';
import { PushMemory } from '../../../../../src/stages/authorize/git/push-memory.ts';
import { pushTo } from '../../../../support/asked-git-server.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { withBody } from '../../../path/exchange/scripted-exchange.ts';
import { type PushingOptions, pushing, refusedWith, strict } from './git-judged-push.ts';
import { command, commandLines, History, MemoryServer, workflow } from './git-push-ground.ts';

const work = 'refs/heads/sandbox/work';
const one = 'refs/heads/sandbox/one';
const two = 'refs/heads/sandbox/two';
const refsOf = (ref: string) => `refs ${ref} refs/heads/main refs/heads/master`;

/** `main` with a history of its own, and a branch of the sandbox that stands at the fourth of its commits. */
function grown() {
  const history = new History();
  const line = [history.commit([], { a: '0', [workflow]: 'w' })];
  for (let n = 1; n < 10; n++) line.push(history.commit([line.at(-1)!], { a: `${n}`, [workflow]: 'w' }));
  const [main, behind] = [line.at(-1)!, line[4]!];
  const server = new MemoryServer(history, { 'refs/heads/main': main, [work]: behind });
  server.name(behind, 'behind');
  server.name(main, 'main');
  let count = 0;
  return {
    history,
    server,
    main,
    behind,
    line,
    commit: (parents: readonly string[], files = {}) =>
      history.commit(parents, { a: `new ${++count}`, [workflow]: 'w', ...files }),
    /** What judging it asked of the server; a push that passes moves its ref there. */
    async push(ref: string, oldId: string, newId: string, options: PushingOptions = {}): Promise<string[]> {
      server.asked.length = 0;
      const move = command(ref, newId, oldId);
      const body = Buffer.concat([commandLines([move]), history.pack([newId], server)]);
      await pushing(withBody([body]), server, options).result;
      server.setRef(ref, newId);
      return server.asked.toSorted();
    },
  };
}

const zero = '0'.repeat(40);

describe('what a push proved need not be asked for the next', () => {
  test('which builds on it: its commit and its directory came with the first', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, behind } = grown();
    const first = commit([behind]);
    expect(await push(work, behind, first, { pushMemory })).toEqual(['objects behind', 'objects tree', refsOf(work)]);
    const second = commit([first]);
    expect(await push(work, first, second, { pushMemory })).toEqual([refsOf(work)]);
    expect(await push(work, second, commit([second]), { pushMemory })).toEqual([refsOf(work)]);
  });

  test('a branch from an older commit of another: that it is part of that history is known', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, behind } = grown();
    const shape = ['commits behind not main', 'objects behind', 'objects tree'];
    expect(await push(one, zero, commit([behind]), { pushMemory })).toEqual([...shape, refsOf(one)]);
    expect(await push(two, zero, commit([behind]), { pushMemory })).toEqual([refsOf(two)]);
  });

  test('a branch that catches up: the commits between are known', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, behind, main, server } = grown();
    expect(await push(work, behind, commit([main]), { pushMemory })).toContain('commits main not behind');
    server.setRef(work, behind);
    expect(await push(work, behind, commit([main]), { pushMemory })).toEqual([refsOf(work)]);
  });

  test('a change beside protected files is compared with what is known', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, behind } = grown();
    const beside = (text: string) => ({ '.github/CODEOWNERS': text });
    const first = commit([behind], beside('1'));
    const second = commit([first], beside('2'));
    await push(work, behind, first, { pushMemory });
    await push(work, first, second, { pushMemory });
    const asked = await push(work, second, commit([second], { ...beside('2'), [workflow]: 'w' }), { pushMemory });
    expect(asked).toEqual([refsOf(work)]);
    const changed = commit([second], { [workflow]: 'another' });
    const refusal = refusedWith(push(work, second, changed, { pushMemory }));
    expect((await refusal).code).toBe('push.protected-path');
  });
});

describe('what refs lead to is asked each time', () => {
  test('a branch that somebody has rewritten meanwhile: what was there no longer counts as let in by others', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, server, history, line, main } = grown();
    // Somebody's commit on main changes a workflow, and a branch is begun on it.
    const theirs = history.commit([main], { a: '9', [workflow]: 'theirs' });
    server.setRef('refs/heads/main', theirs);
    const first = commit([theirs], { [workflow]: 'theirs' });
    await push(one, zero, first, { pushMemory });
    // Main is taken back to before it; the server still has the commit.
    server.setRef('refs/heads/main', main);
    server.setRef(one, line[0]!);
    const second = commit([theirs], { [workflow]: 'theirs' });
    const refusal = await refusedWith(push(two, zero, second, { pushMemory }));
    expect(refusal.code).toBe('push.protected-path');
  });

  test('a branch that was moved aside: what was an addition is a rewrite', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, server, behind } = grown();
    const first = commit([behind]);
    await push(work, behind, first, { pushMemory });
    const aside = commit([behind]);
    server.setRef(work, aside);
    const refusal = await refusedWith(push(work, aside, commit([first]), { pushMemory }));
    expect(refusal.code).toBe('push.force');
  });

  test('what is known down to its root says nothing of what else leads there', async () => {
    const pushMemory = new PushMemory();
    const { push, commit, server, history } = grown();
    const root = history.commit([], { a: 'root', [workflow]: 'w' });
    server.setRef('refs/heads/main', root);
    const tip = commit([root]);
    await push(one, zero, tip, { pushMemory });
    // Main goes on; of how it did, nothing is known here.
    server.setRef('refs/heads/main', commit([commit([tip])]));
    server.setRef(one, root);
    const asked = await push(two, zero, commit([tip]), { pushMemory });
    expect(asked.filter((line) => line.startsWith('commits'))).toHaveLength(1);
  });
});

describe('nothing is kept for ever, nor too much', () => {
  test('another policy in force begins anew', async () => {
    let policy = strict;
    const pushMemory = new PushMemory({ epoch: () => policy });
    const { push, commit, behind } = grown();
    const first = commit([behind]);
    await push(work, behind, first, { pushMemory });
    policy = handMadePolicy({ protectedPaths: ['.github/workflows/**', 'src/**'] });
    expect(await push(work, first, commit([first]), { pushMemory, policy })).toContain('objects tree');
  });

  test('where there is no room the next push asks again', async () => {
    const pushMemory = new PushMemory({ maxBytes: 400 });
    const { push, commit, behind } = grown();
    const first = commit([behind]);
    await push(work, behind, first, { pushMemory });
    expect(await push(work, first, commit([first]), { pushMemory })).toContain('objects tree');
  });

  test('what a push has learned is charged to it', async () => {
    const { server, main } = grown();
    const budget = new WorkBudget();
    const { flow, permission } = pushTo('acme/widgets');
    await new PushMemory().over(server, flow, permission, budget).objects([main]);
    expect(budget.heldBytes).toBeGreaterThan(500);
  });
});
