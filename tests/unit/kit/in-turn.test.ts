import { expect, test } from 'vitest';
import { inTurn } from '../../../src/kit/in-turn.ts';

test('calls at once run one after the other, and one that fails does not stop the next', async () => {
  const seen: string[] = [];
  let number = 0;
  const run = inTurn(async () => {
    const mine = ++number;
    seen.push(`begin ${mine}`);
    await new Promise(setImmediate);
    seen.push(`end ${mine}`);
    if (mine === 2) throw new Error('the second fails');
  });
  const settled = await Promise.allSettled([run(), run(), run()]);
  expect(seen).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3']);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
