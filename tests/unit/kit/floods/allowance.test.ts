import { expect, test } from 'vitest';
import { Allowance } from '../../../../src/kit/floods/allowance.ts';

const passing = (allowance: Allowance, times: number, nowMs: number): number =>
  Array.from({ length: times }, () => allowance.use(1, nowMs)).filter(Boolean).length;

test('so much at once, and so much a second after it', () => {
  const allowance = new Allowance(10, 5, 0);
  expect(passing(allowance, 100, 0)).toBe(10);
  expect(passing(allowance, 100, 1000)).toBe(5);
  expect(passing(allowance, 100, 60_000)).toBe(10);
});

test('what is refused is not charged: more than there is leaves what there is', () => {
  const allowance = new Allowance(10, 5, 0);
  expect(allowance.use(11, 0)).toBe(false);
  expect(allowance.use(10, 0)).toBe(true);
});
