import { describe, expect, test } from 'vitest';
import { periodAt } from '../../../../../src/stages/authorize/limits/budget-period.ts';

const at = (text: string): number => Date.parse(text);

describe('a period begins by UTC', () => {
  test.each([
    ['hour', '2026-11-16T12:59:59.999Z', 'hour:2026-11-16T12', '2026-11-16T12:00Z', '2026-11-16T13:00Z'],
    ['day', '2026-11-16T00:00:00.000Z', 'day:2026-11-16', '2026-11-16T00:00Z', '2026-11-17T00:00Z'],
    ['week', '2026-11-16T00:00:00.000Z', 'week:2026-11-16', '2026-11-16T00:00Z', '2026-11-23T00:00Z'],
    ['week', '2026-11-15T23:59:59.999Z', 'week:2026-11-09', '2026-11-09T00:00Z', '2026-11-16T00:00Z'],
    ['week', '2027-01-01T12:00:00.000Z', 'week:2026-12-28', '2026-12-28T00:00Z', '2027-01-04T00:00Z'],
    ['month', '2026-12-31T23:59:59.999Z', 'month:2026-12-01', '2026-12-01T00:00Z', '2027-01-01T00:00Z'],
    ['month', '2028-02-29T12:00:00.000Z', 'month:2028-02-01', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
  ] as const)('%s at %s', (length, now, key, begins, ends) => {
    expect(periodAt(at(now), length)).toEqual({ key, beginsAtMs: at(begins), endsAtMs: at(ends) });
  });

  test('periods of different lengths that begin together have sums of their own', () => {
    const keys = (['hour', 'day', 'week', 'month'] as const).map(
      (length) => periodAt(at('2026-06-01T00:30Z'), length).key,
    );
    expect(new Set(keys).size).toBe(4);
  });
});
