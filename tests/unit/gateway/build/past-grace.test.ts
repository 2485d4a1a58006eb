import { expect, test } from 'vitest';
import { isPastGrace } from '../../../../src/gateway/build/open-store.ts';

test('a gateway is not ready when its store is away for longer than the grace', () => {
  const sharing = { graceMs: () => 60_000 };
  const awayFor = (ms: number) => ({ away: { sinceMs: performance.now() - ms, reason: 'gone' } });
  expect(isPastGrace({ away: null }, sharing)).toBe(false);
  expect(isPastGrace(awayFor(1000), sharing)).toBe(false);
  expect(isPastGrace(awayFor(61_000), sharing)).toBe(true);
  expect(isPastGrace(awayFor(1), null)).toBe(true);
});
