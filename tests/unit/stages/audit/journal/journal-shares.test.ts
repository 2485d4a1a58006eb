import { expect, test, vi } from 'vitest';
import { JournalShares } from '../../../../../src/stages/audit/journal/journal-shares.ts';

const day = 86_400_000;
const mib = 1024 * 1024;

function open(bytesPerDay = mib) {
  const state = { nowMs: 0, room: 1, bytesPerDay };
  const shares = new JournalShares({
    bytesPerDay: () => state.bytesPerDay,
    room: () => state.room,
    now: () => state.nowMs,
  });
  const onChange = vi.fn();
  shares.onChange = onChange;
  return { state, shares, onChange };
}

test('who has written its share waits until some of it is there again, and nobody else does', () => {
  const { state, shares } = open();
  shares.spendServed('loud', mib - 1);
  expect(shares.waitMs('loud')).toBe(0);
  shares.spendServed('loud', 1);
  const waitMs = shares.waitMs('loud');
  expect(waitMs).toBeCloseTo((16 * 1024 * day) / mib, 0);
  expect(shares.over).toEqual([['loud', waitMs]]);
  expect(shares.waitMs('quiet')).toBe(0);
  state.nowMs += waitMs;
  expect(shares.waitMs('loud')).toBe(0);
  expect(shares.over).toEqual([]);
});

test('refusals have a smaller share beside it, and strangers one for all of them', () => {
  const { shares } = open();
  shares.spendRefused('loud', mib / 8);
  shares.spendRefused(null, mib / 8);
  expect(shares.mayWrite('loud')).toBe(false);
  expect(shares.mayWrite(null)).toBe(false);
  expect(shares.mayWrite('quiet')).toBe(true);
  // What it was refused does not keep it from work.
  expect(shares.waitMs('loud')).toBe(0);
});

test('where little room is left shares shrink with it, and never to nothing', () => {
  const { state, shares } = open();
  shares.spendServed('one', mib / 4);
  expect(shares.waitMs('one')).toBe(0);
  state.room = 1 / 16;
  state.nowMs += 2000;
  shares.spendServed('one', 1);
  expect(shares.waitMs('one')).toBeGreaterThan(0);
  state.room = 0;
  state.nowMs += 2000;
  shares.spendServed('two', mib / 64 - 1);
  expect(shares.waitMs('two')).toBe(0);
  shares.spendServed('two', 2);
  expect(shares.waitMs('two')).toBeGreaterThan(0);
});

test('who waited its time and goes over again is told so, though nobody asked here meanwhile', () => {
  const { state, shares, onChange } = open();
  shares.spendServed('loud', mib);
  expect(onChange).toHaveBeenCalledTimes(1);
  // Workers count the time themselves and ask nobody.
  state.nowMs += day;
  shares.spendServed('loud', 10);
  expect(onChange).toHaveBeenCalledTimes(1);
  shares.spendServed('loud', mib);
  expect(onChange).toHaveBeenCalledTimes(2);
  expect(shares.over).toEqual([['loud', expect.any(Number)]]);
});

test('who is served although it is over makes it told again, once a second at most', () => {
  const { state, shares, onChange } = open();
  shares.spendServed('loud', mib);
  for (let i = 0; i < 100; i++) shares.spendServed('loud', 1000);
  expect(onChange).toHaveBeenCalledTimes(1);
  state.nowMs += 1000;
  for (let i = 0; i < 100; i++) shares.spendServed('loud', 1000);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test('another size is in force at once, and is told', () => {
  const { state, shares, onChange } = open();
  shares.spendServed('loud', mib);
  state.bytesPerDay = 10 * mib;
  shares.configure();
  expect(onChange).toHaveBeenCalled();
  expect(shares.over).toEqual([]);
  state.bytesPerDay = 0;
  shares.spendServed('loud', 100 * mib);
  expect(shares.waitMs('loud')).toBe(0);
  expect(shares.mayWrite('loud')).toBe(true);
});
