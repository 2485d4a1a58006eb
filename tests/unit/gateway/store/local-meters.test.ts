import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalMeters } from '../../../../src/gateway/store/local-meters.ts';

const clock = (startMs = 1000) => {
  let nowMs = startMs;
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { now: () => nowMs, pass };
};

describe('a rate counted in this process', () => {
  test('the burst may come at once, then the rate holds, and the wait is what it takes', () => {
    const { now, pass } = clock();
    const meters = new LocalMeters(now);
    const rate = { perSecond: 2, burst: 3 };
    expect([1, 2, 3].map(() => meters.take('a', rate))).toEqual([0, 0, 0]);
    expect(meters.take('a', rate)).toBe(500);
    expect(meters.take('b', rate)).toBe(0);
    pass(499);
    expect(meters.take('a', rate)).toBe(1);
    pass(1);
    expect(meters.take('a', rate)).toBe(0);
    pass(60_000);
    expect([1, 2, 3, 4].map(() => meters.take('a', rate) === 0)).toEqual([true, true, true, false]);
  });

  test('whatever is asked when, no more is granted than burst and time allow', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 1, max: 4 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 4, max: 10 }),
        (asked, perSecond, burst) => {
          const { now, pass } = clock();
          const meters = new LocalMeters(now);
          let granted = 0;
          for (const [ms, amount] of asked) {
            pass(ms);
            if (meters.take('k', { perSecond, burst }, amount) === 0) granted += amount;
            expect(granted).toBeLessThanOrEqual(burst + ((now() - 1000) * perSecond) / 1000 + 1e-6);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test('what is larger than the burst passes when all is there, and is paid for afterwards', () => {
    const { now, pass } = clock();
    const meters = new LocalMeters(now);
    const rate = { perSecond: 10, burst: 10 };
    expect(meters.take('k', rate, 30)).toBe(0);
    expect(meters.take('k', rate, 1)).toBe(2100);
    pass(2100);
    expect(meters.take('k', rate, 1)).toBe(0);
  });

  test('a lower burst after a reload holds at once; a clock that goes back gives nothing', () => {
    const { now, pass } = clock();
    const meters = new LocalMeters(now);
    meters.take('k', { perSecond: 0.001, burst: 100 });
    expect(meters.take('k', { perSecond: 0.001, burst: 1 })).toBe(0);
    expect(meters.take('k', { perSecond: 0.001, burst: 1 })).toBeGreaterThan(0);
    pass(-900);
    expect(meters.take('k', { perSecond: 1, burst: 1 })).toBeGreaterThan(0);
  });

  test('nothing at all is a rate too', () => {
    const meters = new LocalMeters(clock().now);
    expect(meters.take('k', { perSecond: 0, burst: 1 })).toBe(0);
    expect(meters.take('k', { perSecond: 0, burst: 1 })).toBe(60_000);
  });

  test('what is spent may become a debt; what is given back is no more than the burst', () => {
    const { now, pass } = clock();
    const meters = new LocalMeters(now);
    const rate = { perSecond: 100, burst: 100 };
    meters.spend('k', rate, 350);
    expect(meters.debtMs('k', rate)).toBe(2500);
    pass(2500);
    expect(meters.debtMs('k', rate)).toBe(0);
    meters.spend('k', rate, -1000);
    expect(meters.left('k', rate)).toBe(100);
  });
});

describe('places counted in this process', () => {
  test('are as many as the limit, and free again when they are left', () => {
    const meters = new LocalMeters();
    expect([meters.hold('k', 2), meters.hold('k', 2)]).toEqual([0, 0]);
    expect(meters.hold('k', 2)).toBeGreaterThan(0);
    meters.release('k');
    expect(meters.hold('k', 2)).toBe(0);
    meters.release('k');
    meters.release('k');
    meters.release('k');
    expect([meters.hold('k', 1), meters.hold('k', 1) > 0]).toEqual([0, true]);
  });
});

describe('the memory of meters', () => {
  test('keeps no key that is full again and unheld, and every one that is not', () => {
    const { now, pass } = clock();
    const meters = new LocalMeters(now);
    const rate = { perSecond: 1, burst: 1 };
    meters.spend('debtor', rate, 1_000_000);
    meters.hold('held', 1);
    for (let i = 0; i < 50_000; i++) {
      if (i % 1000 === 0) pass(2000);
      meters.take(`caller ${i}`, rate);
    }
    expect(meters.size).toBeLessThan(6000);
    expect(meters.debtMs('debtor', rate)).toBeGreaterThan(0);
    expect(meters.hold('held', 1)).toBeGreaterThan(0);
  });
});
