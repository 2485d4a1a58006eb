import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalMeters } from '../../../../src/gateway/store/local-meters.ts';
import { LocalTallies } from '../../../../src/gateway/store/local-tallies.ts';
import { createMeterLeases } from '../../../../src/gateway/store/meter-leases.ts';
import { createQuotaServer } from '../../../../src/gateway/store/quota-server.ts';
import type { QuotaSource } from '../../../../src/gateway/store/quota-source.ts';
import { ReplicatedTallies } from '../../../../src/gateway/store/replicated-tallies.ts';

/** One that counts, several that lease from it, and a clock for all. */
function ground(processes: number) {
  let nowMs = 1000;
  const state = { now: () => nowMs, awayNow: false, asked: 0 };
  const counting = new LocalMeters(state.now);
  const tallies = new LocalTallies(state.now);
  const sides = Array.from({ length: processes }, () => {
    const quota = createQuotaServer(counting, tallies);
    const asking: QuotaSource = {
      ...quota,
      draw: (...args) => {
        state.asked++;
        return state.awayNow ? Promise.reject(new Error('away')) : quota.draw(...args);
      },
      places: (...args) => {
        state.asked++;
        return state.awayNow ? Promise.reject(new Error('away')) : quota.places(...args);
      },
    };
    const away = () => state.awayNow;
    const meters = createMeterLeases(asking, { now: state.now, away, peers: () => processes });
    return { meters, quota };
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { state, now: state.now, counting, tallies, sides, pass };
}

describe('a rate that is leased', () => {
  test('never is more granted to all together than there was, whoever asks how often and when', async () => {
    const moves = fc.array(
      fc.record({
        side: fc.integer({ min: 0, max: 2 }),
        ms: fc.integer({ min: 0, max: 1500 }),
        count: fc.integer({ min: 1, max: 12 }),
      }),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 40 }),
        async (asked, perSecond, burst) => {
          const { sides, pass, now } = ground(3);
          let granted = 0;
          for (const { side, ms, count } of asked) {
            pass(ms);
            const { meters } = sides[side]!;
            if (ms > 900) meters.tick();
            const waits = await Promise.all(
              Array.from({ length: count }, () => meters.take('k', { perSecond, burst })),
            );
            granted += waits.filter((waitMs) => waitMs === 0).length;
            expect(granted).toBeLessThanOrEqual(burst + ((now() - 1000) * perSecond) / 1000 + 1e-6);
          }
          for (const { meters } of sides) meters.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is mostly answered at once when it is used much, and asked for seldom', async () => {
    const { sides, state, pass } = ground(1);
    const { meters } = sides[0]!;
    const rate = { perSecond: 1000, burst: 1000 };
    let atOnce = 0;
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 200; i++) {
        const answer = meters.take('k', rate);
        if (typeof answer === 'number') atOnce++;
        expect(await answer).toBe(0);
        pass(5);
      }
      meters.tick();
    }
    expect(atOnce).toBeGreaterThan(900);
    expect(state.asked).toBeLessThan(100);
    meters.close();
  });

  test('what one side does not use, the other has after a while', async () => {
    const { sides, pass, counting } = ground(2);
    const [one, other] = [sides[0]!.meters, sides[1]!.meters];
    const rate = { perSecond: 0.0001, burst: 100 };
    for (let i = 0; i < 30; i++) expect(await one.take('k', rate)).toBe(0);
    pass(2000);
    one.tick();
    expect(counting.left('k', rate)).toBeCloseTo(70, 1);
    const waits = await Promise.all(Array.from({ length: 80 }, () => other.take('k', rate)));
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(70);
    for (const { meters } of sides) meters.close();
  });

  test('a refusal is believed until its time: a flood asks no more', async () => {
    const { sides, state } = ground(1);
    const { meters } = sides[0]!;
    const rate = { perSecond: 0.1, burst: 1 };
    expect(await meters.take('k', rate)).toBe(0);
    const wait = await meters.take('k', rate);
    const asked = state.asked;
    for (let i = 0; i < 1000; i++) expect(meters.take('k', rate)).toBe(wait);
    expect(state.asked).toBe(asked);
    meters.close();
  });

  test('without an answer each side has its share, and at least one', async () => {
    const { sides, state } = ground(4);
    const { meters } = sides[0]!;
    state.awayNow = true;
    const taken = async (key: string, burst: number) => {
      const waits = await Promise.all(Array.from({ length: 20 }, () => meters.take(key, { perSecond: 0.001, burst })));
      return waits.filter((waitMs) => waitMs === 0).length;
    };
    expect(await taken('a', 40)).toBe(10);
    expect(await taken('b', 2)).toBe(1);
    expect(state.asked).toBe(0);
    meters.close();
  });

  test('a source that goes away is not a burst anew: a share begins with what was not used', async () => {
    const { sides, state, pass } = ground(2);
    const rate = { perSecond: 1, burst: 20 };
    const takenBy = async (side: number, count: number) => {
      const waits = await Promise.all(Array.from({ length: count }, () => sides[side]!.meters.take('a', rate)));
      return waits.filter((waitMs) => waitMs === 0).length;
    };
    expect((await takenBy(0, 30)) + (await takenBy(1, 30))).toBe(20);
    state.awayNow = true;
    expect((await takenBy(0, 30)) + (await takenBy(1, 30))).toBe(0);
    // By then each has its half of what ten seconds bring.
    pass(10_000);
    expect([await takenBy(0, 30), await takenBy(1, 30)]).toEqual([5, 5]);
    for (const { meters } of sides) meters.close();
  });
});

describe('a rate that is leased for callers that cannot wait', () => {
  const answered = () => new Promise((resolve) => setImmediate(resolve));

  test('never is more granted to all together than there was', async () => {
    const moves = fc.array(
      fc.record({
        side: fc.integer({ min: 0, max: 2 }),
        ms: fc.integer({ min: 0, max: 1500 }),
        count: fc.integer({ min: 1, max: 40 }),
        isAnswered: fc.boolean(),
      }),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.integer({ min: 1, max: 30 }),
        // Of fewer than two for each, each has one.
        fc.integer({ min: 6, max: 60 }),
        async (asked, perSecond, burst) => {
          const { sides, pass, now } = ground(3);
          let granted = 0;
          for (const { side, ms, count, isAnswered } of asked) {
            pass(ms);
            const { meters } = sides[side]!;
            for (let i = 0; i < count; i++) if (meters.takeNow('k', { perSecond, burst }) === 0) granted++;
            if (isAnswered) await answered();
            expect(granted).toBeLessThanOrEqual(burst + ((now() - 1000) * perSecond) / 1000 + 1e-6);
          }
          for (const { meters } of sides) meters.close();
        },
      ),
      { numRuns: 100 },
    );
  });

  test('one of them alone has its part and what it draws in advance, and the others keep theirs', async () => {
    const { sides } = ground(4);
    const rate = { perSecond: 0.001, burst: 100 };
    const takenBy = async (side: number) => {
      const { meters } = sides[side]!;
      let granted = 0;
      for (let turn = 0; turn < 40; turn++) {
        while (meters.takeNow('k', rate) === 0) granted++;
        await answered();
      }
      return granted;
    };
    expect(await takenBy(0)).toBe(62);
    expect([await takenBy(1), await takenBy(2), await takenBy(3)]).toEqual([12, 12, 12]);
    for (const side of sides) side.meters.close();
  });

  test('a source that is away leaves each its part', async () => {
    const { sides, state } = ground(2);
    state.awayNow = true;
    let granted = 0;
    while (sides[0]!.meters.takeNow('k', { perSecond: 0.001, burst: 40 }) === 0) granted++;
    expect(granted).toBe(10);
    for (const side of sides) side.meters.close();
  });
});

describe('places that are leased', () => {
  test('never are more held by all together than the limit, in whatever order they come and go', async () => {
    const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: -6, max: 6 })), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 40 }), async (asked, limit) => {
        const { sides, pass } = ground(3);
        const held = [0, 0, 0];
        for (const [side, change] of asked) {
          const { meters } = sides[side]!;
          pass(100);
          if (change > 0) {
            const waits = await Promise.all(Array.from({ length: change }, () => meters.hold('k', limit)));
            held[side]! += waits.filter((waitMs) => waitMs === 0).length;
          }
          for (let i = 0; i < -change && held[side]! > 0; i++, held[side]!--) meters.release('k');
          expect(held[0]! + held[1]! + held[2]!).toBeLessThanOrEqual(limit);
        }
        for (const { meters } of sides) meters.close();
      }),
      { numRuns: 60 },
    );
  });

  test('nor while an answer is on its way: what goes back is nobody’s from then on', async () => {
    const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: -20, max: 20 }), fc.boolean()), {
      minLength: 5,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(moves, fc.constantFrom(3, 16, 33), async (asked, limit) => {
        const counting = new LocalMeters();
        const sides = [0, 1].map(() => {
          const quota = createQuotaServer(counting, new LocalTallies());
          const late: QuotaSource = {
            ...quota,
            async places(...args) {
              const has = await quota.places(...args);
              await new Promise((resolve) => setImmediate(resolve));
              return has;
            },
          };
          return createMeterLeases(late);
        });
        const held = [0, 0];
        const asking: unknown[] = [];
        for (const [side, change, pauses] of asked) {
          for (let i = 0; i < change; i++) {
            const answer = sides[side]!.hold('k', limit);
            if (answer === 0) held[side]!++;
            else asking.push(Promise.resolve(answer).then((waitMs) => (waitMs === 0 ? held[side]!++ : 0)));
          }
          for (let i = 0; i < -change && held[side]! > 0; i++, held[side]!--) sides[side]!.release('k');
          if (pauses) await new Promise((resolve) => setImmediate(resolve));
          expect(held[0]! + held[1]!).toBeLessThanOrEqual(limit);
        }
        await Promise.all(asking);
        expect(held[0]! + held[1]!).toBeLessThanOrEqual(limit);
        for (const meters of sides) meters.close();
      }),
      { numRuns: 150 },
    );
  });

  test('those of a process that has died are free', async () => {
    const { sides, pass } = ground(2);
    expect(await sides[0]!.meters.hold('k', 1)).toBe(0);
    expect(await sides[1]!.meters.hold('k', 1)).toBeGreaterThan(0);
    sides[0]!.quota.gone();
    pass(100);
    expect(await sides[1]!.meters.hold('k', 1)).toBe(0);
    for (const { meters } of sides) meters.close();
  });

  test('where there are many, most are had at once', async () => {
    const { sides } = ground(1);
    const { meters } = sides[0]!;
    await meters.hold('k', 160);
    let atOnce = 0;
    for (let i = 0; i < 100; i++) {
      if (meters.hold('k', 160) === 0) {
        atOnce++;
        meters.release('k');
      }
    }
    expect(atOnce).toBe(100);
    meters.close();
  });
});

describe('sums that are reported', () => {
  test('are right however often they are reported, and again after the answer was lost', async () => {
    const { tallies, state, sides } = ground(2);
    let lost = 0;
    const side = (index: number, loses: boolean) =>
      new ReplicatedTallies(
        {
          async report(...args) {
            const total = await sides[index]!.quota.report(...args);
            if (loses && lost++ % 2 === 0) throw new Error('the answer was lost');
            return total;
          },
        },
        { now: () => 1000 + lost * 2000, away: () => false, peers: () => 2 },
      );
    const [one, other] = [side(0, true), side(1, false)];
    for (let i = 0; i < 10; i++) {
      one.add('k', 2, 60_000);
      other.add('k', 1, 60_000);
      one.tick();
      other.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await one.close();
    await other.close();
    await one.total('k');
    expect(tallies.total('k')).toBe(30);
    expect(state.awayNow).toBe(false);
  });
});
