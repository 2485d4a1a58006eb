import { describe, expect, test } from 'vitest';
import { createQuotaServer } from '../../../../src/gateway/store/quota-server.ts';
import type { SharedMeters, SharedTallies, WaitMs } from '../../../../src/path/shared-store.ts';

/** Places that are counted elsewhere: each question is answered when the test says so. */
function ground(limit: number) {
  let held = 0;
  const questions: (() => void)[] = [];
  const meters = {
    hold: () =>
      new Promise<WaitMs>((resolve) =>
        questions.push(() => {
          const isFree = held < limit;
          if (isFree) held++;
          resolve(isFree ? 0 : 100);
        }),
      ),
    release: () => {
      held--;
    },
  } as unknown as SharedMeters;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const answerAll = async (): Promise<void> => {
    for (await turn(); questions.length > 0; await turn()) for (const answer of questions.splice(0)) answer();
  };
  return { serve: () => createQuotaServer(meters, {} as SharedTallies), answerAll, turn, questions, held: () => held };
}

describe('places that are leased', () => {
  test('are had as far as there are any, and given back when fewer are wanted', async () => {
    const { serve, answerAll, held } = ground(4);
    const one = serve();
    const asking = one.places('k', 4, 0, 5);
    await answerAll();
    expect(await asking).toBe(4);
    expect(await one.places('k', 4, 3, 1)).toBe(3);
    expect(held()).toBe(3);
    one.gone();
    expect(held()).toBe(0);
  });

  test('of one that dies while it asks come back once: the others keep theirs', async () => {
    const { serve, answerAll, turn, questions, held } = ground(8);
    const [lives, dies] = [serve(), serve()];
    const asked = [lives.places('k', 8, 0, 3), dies.places('k', 8, 0, 4)];
    await answerAll();
    expect(await Promise.all(asked)).toEqual([3, 4]);
    const asking = dies.places('k', 8, 4, 6);
    await turn();
    expect(questions).toHaveLength(1);
    dies.gone();
    await answerAll();
    expect(await asking).toBe(0);
    expect(held()).toBe(3);
    // And nothing is held for it any more.
    expect(await dies.places('k', 8, 0, 2)).toBe(0);
    expect(held()).toBe(3);
  });
});
