import { describe, expect, test } from 'vitest';
import { AncestryMemo, boundaryAnswer, isFastForward } from '../../../../../src/protocols/git/objects/ancestry.ts';

const answerOf = (
  returned: readonly { readonly oid: string; readonly parents: readonly string[] }[],
  b: string,
  old: string,
) => boundaryAnswer(new Map(returned.map((commit) => [commit.oid, commit])), b, old);

/** `child: parents`, as a pack would give them. */
const history = (edges: Record<string, string[]>) => (oid: string) =>
  edges[oid] === undefined ? null : { parents: edges[oid] };
const never = async () => {
  throw new Error('nothing had to be asked');
};

describe('a push adds to a branch exactly when the old tip is behind the new one', () => {
  test('found in the pack, nothing is asked: in line, by a merge, and by no step at all', async () => {
    const commits = history({ new: ['x', 'y'], x: ['side'], y: ['old'] });
    expect(await isFastForward({ oldId: 'old', newId: 'y', commits, boundary: never })).toBe('fast-forward');
    expect(await isFastForward({ oldId: 'old', newId: 'new', commits, boundary: never })).toBe('fast-forward');
    expect(await isFastForward({ oldId: 'old', newId: 'old', commits, boundary: never })).toBe('fast-forward');
  });

  test('where the walk leaves the pack, the server says', async () => {
    const commits = history({ new: ['a', 'b'] });
    const asked: string[] = [];
    const boundary = (yes: string[]) => async (b: string, old: string) => {
      asked.push(`${b} ${old}`);
      return yes.includes(b);
    };
    const verdict = (yes: string[]) => isFastForward({ oldId: 'old', newId: 'new', commits, boundary: boundary(yes) });
    expect(await verdict([])).toBe('not-fast-forward');
    expect(asked.sort()).toEqual(['a old', 'b old']);
    expect(await verdict(['a'])).toBe('fast-forward');
    expect(await verdict(['b'])).toBe('fast-forward');
  });

  test('unrelated history that begins in the pack is not a fast-forward', async () => {
    const commits = history({ new: ['root'], root: [] });
    expect(await isFastForward({ oldId: 'old', newId: 'new', commits, boundary: never })).toBe('not-fast-forward');
  });

  test('an older commit of the branch, with nothing in the pack, is for the server to tell', async () => {
    const boundary = async () => false;
    expect(await isFastForward({ oldId: 'old', newId: 'older', commits: () => null, boundary })).toBe(
      'not-fast-forward',
    );
  });

  test('a server that cannot say makes no verdict', async () => {
    const boundary = async () => {
      throw new Error('not our ref');
    };
    const asking = isFastForward({ oldId: 'old', newId: 'new', commits: () => null, boundary });
    await expect(asking).rejects.toThrow('not our ref');
  });

  test('refs of one push share answers, questions and steps', async () => {
    const commits = history({ one: ['b'], two: ['b'], three: ['c'] });
    let questions = 0;
    const boundary = async () => {
      questions++;
      return false;
    };
    const memo = new AncestryMemo({ maxQuestions: 1 });
    await isFastForward({ oldId: 'old', newId: 'one', commits, boundary, memo });
    await isFastForward({ oldId: 'old', newId: 'two', commits, boundary, memo });
    expect(questions).toBe(1);
    const third = isFastForward({ oldId: 'old', newId: 'three', commits, boundary, memo });
    await expect(third).rejects.toMatchObject({ code: 'too-large' });
    const few = new AncestryMemo({ maxSteps: 3 });
    await isFastForward({ oldId: 'old', newId: 'one', commits, boundary, memo: few });
    const more = isFastForward({ oldId: 'old', newId: 'two', commits, boundary, memo: few });
    await expect(more).rejects.toMatchObject({ code: 'too-large' });
  });

  test('a ladder of merges is walked once, not once for each way down', async () => {
    const edges: Record<string, string[]> = {};
    for (let n = 0; n < 5_000; n++) {
      edges[`l${n}`] = [`l${n + 1}`, `r${n + 1}`];
      edges[`r${n}`] = [`r${n + 1}`, `l${n + 1}`];
    }
    const memo = new AncestryMemo({ maxSteps: 10_002 });
    const boundary = async () => false;
    const walk = isFastForward({ oldId: 'old', newId: 'l0', commits: history(edges), boundary, memo });
    expect(await walk).toBe('not-fast-forward');
  });
});

describe('what the server returns decides the boundary question', () => {
  test('the same commit, or a way from b down to old', async () => {
    expect(await answerOf([], 'old', 'old')).toBe(true);
    expect(await answerOf([{ oid: 'b', parents: ['old'] }], 'b', 'old')).toBe(true);
    const way = [
      { oid: 'b', parents: ['x', 'y'] },
      { oid: 'x', parents: ['z'] },
      { oid: 'y', parents: ['old'] },
    ];
    expect(await answerOf(way, 'b', 'old')).toBe(true);
  });

  test('nothing returned, or no way down, is a no', async () => {
    expect(await answerOf([], 'b', 'old')).toBe(false);
    expect(await answerOf([{ oid: 'b', parents: ['x'] }], 'b', 'old')).toBe(false);
    // Old has a child, but b does not come from it.
    const beside = [
      { oid: 'b', parents: ['x'] },
      { oid: 'other', parents: ['old'] },
    ];
    expect(await answerOf(beside, 'b', 'old')).toBe(false);
  });
});
