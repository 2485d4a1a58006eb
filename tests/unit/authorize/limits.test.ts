import { describe, expect, test } from 'vitest';
import { SandboxLimits } from '../../../src/authorize/limits.ts';
import { refusalOf, sandboxWith } from '../../support/hand-made-flow.ts';

function limitsOf(requestsPerMinute: number, concurrentRequests: number) {
  const state = { nowMs: 1000, requestsPerMinute, concurrentRequests };
  return { state, limits: new SandboxLimits({ limits: () => state, now: () => state.nowMs }) };
}

describe('a sandbox has a number of requests per minute', () => {
  test("a minute's worth may come at once; the next is told how long to wait", () => {
    const { limits } = limitsOf(10, 100);
    const sandbox = sandboxWith();
    for (let i = 0; i < 10; i++) limits.admit(sandbox)();
    const refusal = refusalOf(() => limits.admit(sandbox));
    expect(refusal).toMatchObject({ code: 'limit.rate', status: 429, retryAfterSeconds: 6 });
  });

  test('waiting as long as it was told is enough, and no more than the rate comes back', () => {
    const { limits, state } = limitsOf(10, 100);
    const sandbox = sandboxWith();
    for (let i = 0; i < 10; i++) limits.admit(sandbox)();
    state.nowMs += 6000;
    limits.admit(sandbox)();
    expect(refusalOf(() => limits.admit(sandbox)).code).toBe('limit.rate');
    state.nowMs += 3_600_000;
    for (let i = 0; i < 10; i++) limits.admit(sandbox)();
    expect(refusalOf(() => limits.admit(sandbox)).code).toBe('limit.rate');
  });

  test('being refused costs nothing further', () => {
    const { limits, state } = limitsOf(1, 100);
    const sandbox = sandboxWith();
    limits.admit(sandbox)();
    for (let i = 0; i < 50; i++) refusalOf(() => limits.admit(sandbox));
    state.nowMs += 60_000;
    expect(limits.admit(sandbox)).toBeTypeOf('function');
  });

  test('one sandbox does not use up what another has', () => {
    const { limits } = limitsOf(1, 100);
    limits.admit(sandboxWith({ id: 'one' }))();
    expect(limits.admit(sandboxWith({ id: 'two' }))).toBeTypeOf('function');
  });

  test('a changed limit holds at once', () => {
    const { limits, state } = limitsOf(1000, 100);
    const sandbox = sandboxWith();
    limits.admit(sandbox)();
    state.requestsPerMinute = 1;
    limits.admit(sandbox)();
    expect(refusalOf(() => limits.admit(sandbox)).code).toBe('limit.rate');
  });
});

describe('a sandbox has a number of requests at a time', () => {
  test('one more than that is refused until one is over', () => {
    const { limits } = limitsOf(1000, 2);
    const sandbox = sandboxWith();
    const first = limits.admit(sandbox);
    limits.admit(sandbox);
    expect(refusalOf(() => limits.admit(sandbox))).toMatchObject({ code: 'limit.concurrent', retryAfterSeconds: 1 });
    first();
    limits.admit(sandbox);
    expect(refusalOf(() => limits.admit(sandbox)).code).toBe('limit.concurrent');
  });
});
