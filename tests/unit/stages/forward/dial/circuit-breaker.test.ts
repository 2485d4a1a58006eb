import { beforeEach, describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { CircuitBreaker, usualCircuits } from '../../../../../src/stages/forward/dial/circuit-breaker.ts';

const key = 'https://api.example:443';
let nowMs = 0;
let changes: string[] = [];
let breaker: CircuitBreaker;

beforeEach(() => {
  nowMs = 1_000_000;
  changes = [];
  breaker = makeBreaker();
});

function makeBreaker(settings: Partial<typeof usualCircuits> = {}): CircuitBreaker {
  return new CircuitBreaker(
    { ...usualCircuits, nowMs: () => nowMs, random: () => 0.5, ...settings },
    (of, change, why) => changes.push(`${of} ${change}: ${why}`),
  );
}

/** What becomes of a request: it goes out, it goes out to find out, or it is refused. */
function ask(by: object = {}, of = key): 'goes' | 'tries' | Refusal {
  try {
    return breaker.admit(of, by, 'api.example') ? 'tries' : 'goes';
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function fail(times: number, of = key): void {
  for (let i = 0; i < times; i++) breaker.failed(of, {}, 'upstream.connect');
}

function tries(): object {
  const by = {};
  expect(ask(by)).toBe('tries');
  return by;
}

describe('a circuit opens', () => {
  test('after five failures in a row, not after four', () => {
    fail(4);
    expect(ask()).toBe('goes');
    fail(1);
    expect(ask()).toBeInstanceOf(Refusal);
    expect(changes).toEqual([`${key} opened: 5 failures in a row: it could not be reached`]);
  });

  test('not when one in between went well', () => {
    fail(4);
    breaker.succeeded(key);
    fail(4);
    expect(ask()).toBe('goes');
    expect(changes).toEqual([]);
  });

  test('not when they are further apart than the window', () => {
    for (let i = 0; i < 20; i++) {
      fail(1);
      nowMs += 8_000;
    }
    expect(ask()).toBe('goes');
  });

  test('for its own key alone', () => {
    fail(5);
    expect(ask({}, 'https://other.example:443')).toBe('goes');
  });

  test('and says how many failures of what kind, since when, and when it is tried again', () => {
    fail(4);
    nowMs += 3_000;
    breaker.failed(key, {}, 'upstream.timeout');
    nowMs += 400;
    expect(ask()).toMatchObject({
      code: 'upstream.circuit-open',
      status: 502,
      message:
        'the gateway has stopped calling api.example for now: 5 failures in a row (it was too slow), the first 3 s ago',
      hint: 'Try again in 1 s. The operator finds the failures in the journal.',
      retryAfterSeconds: 1,
    });
  });
});

describe('an open circuit', () => {
  beforeEach(() => fail(5));

  test('lets exactly one try when its pause is over', () => {
    nowMs += 999;
    expect(ask()).toBeInstanceOf(Refusal);
    nowMs += 1;
    tries();
    for (let i = 0; i < 10; i++) expect(ask()).toBeInstanceOf(Refusal);
  });

  test('is closed by a success, and says so once', () => {
    nowMs += 1_000;
    tries();
    breaker.succeeded(key);
    breaker.succeeded(key);
    expect(ask()).toBe('goes');
    expect(changes.slice(1)).toEqual([`${key} closed: it works again`]);
    expect(breaker.isQuiet).toBe(true);
  });

  test('begins anew when it was closed: it takes five failures again', () => {
    breaker.succeeded(key);
    fail(4);
    expect(ask()).toBe('goes');
  });

  test('waits twice as long after every try that fails, up to the longest', () => {
    const pauses: number[] = [];
    let pauseMs = 1_000;
    for (let i = 0; i < 8; i++) {
      pauses.push(pauseMs);
      nowMs += pauseMs - 1;
      expect(ask()).toBeInstanceOf(Refusal);
      nowMs += 1;
      breaker.failed(key, tries(), 'upstream.connect');
      pauseMs = Math.min(30_000, pauseMs * 2);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(changes).toHaveLength(1);
  });

  test('is not kept open by its own refusals, however many', () => {
    for (let i = 0; i < 1_000; i++) {
      expect(ask()).toBeInstanceOf(Refusal);
      nowMs += 1;
    }
    tries();
  });

  test('is not kept open for longer by what was under way when it opened', () => {
    fail(100);
    nowMs += 1_000;
    tries();
    // Nor while one tries: only what that one learns counts.
    fail(100);
    breaker.succeeded(key);
    expect(ask()).toBe('goes');
  });

  test('lets the next one try when the one that tried came to nothing', () => {
    nowMs += 1_000;
    const first = tries();
    expect(ask()).toBeInstanceOf(Refusal);
    breaker.release(key, {});
    expect(ask()).toBeInstanceOf(Refusal);
    breaker.release(key, first);
    tries();
  });

  test('does not wait for ever for the one that tries', () => {
    nowMs += 1_000;
    tries();
    nowMs += 29_999;
    expect(ask()).toBeInstanceOf(Refusal);
    nowMs += 1;
    tries();
  });

  test('counts as open while it is being tried, and is forgotten when nobody has asked for ten minutes', () => {
    expect(breaker.openCount).toBe(1);
    nowMs += 1_000;
    tries();
    expect(breaker.openCount).toBe(1);
    nowMs += 600_001;
    expect(breaker.openCount).toBe(0);
    expect(breaker.isQuiet).toBe(true);
  });
});

test.each([
  [0, 800],
  [1, 1_200],
])('pauses are spread, so that not everyone comes back at the same moment (%s: %s ms)', (random, pauseMs) => {
  breaker = makeBreaker({ random: () => random });
  fail(5);
  nowMs += pauseMs - 1;
  expect(ask()).toBeInstanceOf(Refusal);
  nowMs += 1;
  tries();
});

test('a sandbox that makes up hosts does not fill the memory', () => {
  breaker = makeBreaker({ maxCircuits: 10 });
  for (let i = 0; i < 1_000; i++) fail(5, `https://${i}.example:443`);
  expect(breaker.openCount).toBe(10);
});

test('what is forgotten begins anew: by its beginning, or all', () => {
  fail(5, 'one https://api.example:443');
  fail(5, 'two https://api.example:443');
  breaker.forget('one ');
  expect([ask({}, 'one https://api.example:443'), breaker.openCount]).toEqual(['goes', 1]);
  breaker.forget(null);
  expect(breaker.openCount).toBe(0);
});
