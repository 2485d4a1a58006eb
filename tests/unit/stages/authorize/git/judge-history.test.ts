import { describe, expect, test } from 'vitest';
import type { PushCommand } from '../../../../../src/protocols/git/push-command.ts';
import { isMove, judgeHistory } from '../../../../../src/stages/authorize/git/judge-history.ts';
import { objectsOf, packOf } from '../../../protocols/git/objects/pack-builder.ts';
import { command, History, MemoryServer, zeroId } from './git-push-ground.ts';

function ground() {
  const history = new History();
  const base = history.commit([]);
  const old = history.commit([base]);
  const server = new MemoryServer(history, { 'refs/heads/work': old });
  server.name(base, 'base');
  server.name(old, 'old');
  const judge = async (commands: readonly PushCommand[]) =>
    judgeHistory(commands, await history.packed([...commands.map(({ newId }) => newId)], server), server);
  return { history, base, old, server, judge };
}

describe('a push that only adds to a branch passes', () => {
  test('onto the old tip, in line or through a merge: the server is asked nothing', async () => {
    const { history, base, old, server, judge } = ground();
    const one = history.commit([old]);
    expect(await judge([command('refs/heads/work', history.commit([one]), old)])).toEqual([]);
    const side = history.commit([base]);
    expect(await judge([command('refs/heads/work', history.commit([side, old]), old)])).toEqual([]);
    expect(await judge([command('refs/heads/work', old, old)])).toEqual([]);
    expect(server.asked).toEqual([]);
  });

  test('to a commit that is only on the server: one question', async () => {
    const { history, old, server, judge } = ground();
    const ahead = server.name(history.commit([history.commit([old])]), 'ahead');
    server.setRef('refs/heads/other', ahead);
    server.name(ahead, 'ahead');
    expect(await judge([command('refs/heads/work', ahead, old)])).toEqual([]);
    expect(server.asked).toEqual(['commits ahead not old']);
  });

  test('new branches, tags and deletions rewrite nothing: the server is asked nothing', async () => {
    const { history, old, server } = ground();
    const other = history.commit([]);
    const commands = [
      command('refs/heads/new', other),
      command('refs/heads/work', zeroId, old),
      command('refs/tags/v1', other, old),
    ];
    expect(commands.map(isMove)).toEqual([false, false, false]);
    expect(isMove(command('refs/heads/work', other, old))).toBe(true);
    expect(await judgeHistory(commands, await objectsOf(packOf([])), server)).toEqual([]);
    expect(server.asked).toEqual([]);
  });
});

describe('a push that would rewrite a branch is found', () => {
  test('with the branch, the tip that would be lost, the rule and what to do instead', async () => {
    const { history, base, old, judge } = ground();
    const id = old.slice(0, 12);
    expect(await judge([command('refs/heads/work', history.commit([base]), old)])).toEqual([
      {
        code: 'push.force',
        ref: 'refs/heads/work',
        rule: 'policy.allow_force_push',
        message: `this push would rewrite work: ${id}, its tip on the server, would no longer be part of it`,
        reason: 'not a fast-forward',
        hint: `Merge instead (\`git fetch origin && git merge ${id}\`), or push to a new branch. The operator can set policy.allow_force_push.`,
      },
    ]);
  });

  test('back to an older commit, to another line, to unrelated history', async () => {
    const { history, base, old, server, judge } = ground();
    for (const tip of [base, history.commit([base]), history.commit([])]) {
      expect(await judge([command('refs/heads/work', tip, old)])).toMatchObject([{ code: 'push.force' }]);
    }
    // The last one never leaves the pack, so nothing has to be asked for it.
    expect(server.asked).toEqual(['commits base not old', 'commits base not old']);
  });

  test('each ref of several, and the same question only once', async () => {
    const { history, base, old, server, judge } = ground();
    const good = history.commit([old]);
    const bad = history.commit([base]);
    const commands = [
      command('refs/heads/a', bad, old),
      command('refs/heads/work', good, old),
      command('refs/heads/b', history.commit([base]), old),
    ];
    expect((await judge(commands)).map(({ ref }) => ref)).toEqual(['refs/heads/a', 'refs/heads/b']);
    expect(server.asked).toEqual(['commits base not old']);
  });

  test('an old id that the server does not have is no ancestor of anything it has', async () => {
    const { history, base, judge } = ground();
    const lie = history.commit([history.commit([])]);
    const found = await judge([command('refs/heads/work', history.commit([base]), lie)]);
    expect(found).toMatchObject([{ code: 'push.force' }]);
  });

  test('a server that has no answer leaves it undecided', async () => {
    const { history, old, server } = ground();
    const nowhere = history.commit([]);
    const tip = history.commit([nowhere]);
    const objects = await objectsOf(packOf(history.partsOf([tip])));
    await expect(judgeHistory([command('refs/heads/work', tip, old)], objects, server)).rejects.toMatchObject({
      name: 'GitRemoteError',
    });
  });

  test('more questions than one push may ask end it', async () => {
    const { history, base, old, server } = ground();
    const sides = Array.from({ length: 65 }, () => {
      const side = history.commit([base]);
      server.hold(side);
      return side;
    });
    const objects = await objectsOf(packOf([]));
    const judging = judgeHistory(
      sides.map((side, n) => command(`refs/heads/b${n}`, side, old)),
      objects,
      server,
    );
    await expect(judging).rejects.toMatchObject({ code: 'too-large' });
    expect(server.asked.length).toBe(64);
  });
});
