import { describe, expect, test } from 'vitest';
import type { TokenUse } from '../../../../../src/path/exchange/answer-meter.ts';
import { KeptContexts } from '../../../../../src/stages/authorize/limits/budget.ts';

function use(over: Partial<TokenUse>): TokenUse {
  const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { model: null, id: null, follows: null, isEstimated: true, ...nothing, ...over };
}

describe('an answer that does not say what it went on from counts', () => {
  test('all that the answer before it was given, and what that said', () => {
    const contexts = new KeptContexts();
    contexts.complete('sbx_1', use({ id: 'a', input: 1000, cacheRead: 500, output: 50 }));
    expect(contexts.complete('sbx_1', use({ id: 'b', follows: 'a', input: 10, output: 7 }))).toMatchObject({
      input: 1550,
      output: 7,
    });
    // And so on, from one that was cut off to the next.
    expect(contexts.complete('sbx_1', use({ id: 'c', follows: 'b', input: 10 })).input).toBe(1557);
  });

  test('the most that this sandbox ever gave, where it is a conversation or nobody knows the answer before it', () => {
    const contexts = new KeptContexts();
    contexts.complete('sbx_1', use({ id: 'a', input: 900, cacheWrite: 100 }));
    contexts.complete('sbx_1', use({ id: 'b', input: 20 }));
    for (const follows of ['', 'of-long-ago']) {
      expect(contexts.complete('sbx_1', use({ follows, input: 10 })).input).toBe(1000);
      expect(contexts.complete('sbx_2', use({ follows, input: 10 })).input).toBe(10);
    }
  });

  test('no less because the one before it was fetched again and cut off', () => {
    const contexts = new KeptContexts();
    contexts.complete('sbx_1', use({ id: 'a', input: 1000 }));
    contexts.complete('sbx_1', use({ id: 'a', output: 1 }));
    expect(contexts.complete('sbx_1', use({ follows: 'a' })).input).toBe(1000);
  });
});

test('one that goes on from nothing, or said what it was given, stays as it is', () => {
  const contexts = new KeptContexts();
  contexts.complete('sbx_1', use({ id: 'a', input: 1000 }));
  const said = use({ id: 'b', input: 3, output: 5, isEstimated: false });
  expect(contexts.complete('sbx_1', said)).toEqual(said);
});
