import { describe, expect, test } from 'vitest';
import { LocalTallies } from '../../../../../src/gateway/store/local-tallies.ts';
import type { TokenUse } from '../../../../../src/path/exchange/answer-meter.ts';
import type { Identified, Permission } from '../../../../../src/path/flow.ts';
import type { Refusal } from '../../../../../src/path/refusal.ts';
import type { SharedTallies } from '../../../../../src/path/shared-store.ts';
import type { Budgets } from '../../../../../src/policy/compiled-limits.ts';
import { ModelBudget } from '../../../../../src/stages/authorize/limits/budget.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { noBudgets } from '../../../../support/hand-made-limits.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policy = handMadePolicy({ allow: [{ host: 'llm.example', conversation: true }, { host: 'api.example' }] });
const noon = Date.parse('2026-11-16T12:00:00Z');
const price = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 };

interface Ground {
  readonly clock: { now: number };
  readonly budget: ModelBudget;
  /** One request through the gate, as the stages see it. */
  ask(made?: { sandbox?: string; credential?: string | null; path?: string; host?: string; method?: string }): Flow;
}

type Flow = Identified & { injected: string | null };

function groundWith(over: Partial<Budgets>, tallies: SharedTallies = new LocalTallies(() => 0)): Ground {
  const clock = { now: noon };
  const budgets = { ...noBudgets, prices: [{ pattern: '*', price }], ...over };
  const budget = new ModelBudget({ tallies, budgets: () => budgets, now: () => clock.now });
  return {
    clock,
    budget,
    ask({ sandbox = 'sbx_1', credential = 'llm', path = '/v1/messages', host = 'llm.example', method = 'POST' } = {}) {
      const arrived = acceptedFlow(callerFrom(), canonicalOf(method, `https://${host}${path}`));
      const flow: Flow = { ...arrived, sandbox: sandboxWith({ id: sandbox }), injected: credential };
      const permission: Permission = {
        rule: 'allow[0]',
        tunnel: false,
        credential,
        git: null,
        github: null,
        repository: null,
      };
      const admission = budget.admit(flow, permission, policy);
      if (admission !== undefined) throw new Error('it was not decided at once');
      return flow;
    },
  };
}

function use(over: Partial<TokenUse> = {}): TokenUse {
  const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { model: 'any', id: null, follows: null, isEstimated: false, ...nothing, ...over };
}

describe('a budget is kept to', () => {
  test('requests pass until it is used up; then they are told how much, of what, and until when', () => {
    const { ask } = groundWith({ sandbox: { tokens: 100, microDollars: 0 } });
    ask().meter!.count(use({ input: 20, cacheRead: 30, cacheWrite: 9, output: 40 }));
    ask().meter!.count(use({ output: 51 }));
    const refusal = refusalOf(() => ask());
    expect(refusal).toMatchObject({
      code: 'budget.tokens',
      status: 429,
      rule: 'budgets.sandbox.tokens',
      retryAfterSeconds: 12 * 3600,
    });
    expect(refusal.message).toContain('the sandbox sbx_1 spent 150 of 100 tokens for this day');
    expect(refusal.hint).toContain('2026-11-17 00:00 UTC');
    expect(refusal.hint).toContain('budgets.sandbox.tokens');
  });

  test('in money: input, output and what a cache saves or costs have their own prices', () => {
    const { ask } = groundWith({ sandbox: { tokens: 0, microDollars: 500 } });
    ask().meter!.count(use({ input: 100, output: 10, cacheRead: 1000, cacheWrite: 50 }));
    ask().meter!.count(use({ output: 10 }));
    const refusal = refusalOf(() => ask());
    expect(refusal).toMatchObject({ code: 'budget.dollars', status: 429, rule: 'budgets.sandbox.dollars' });
    expect(refusal.message).toContain('$0.000500 of $0.000500');
  });

  test('each sandbox has its own; a credential and the gateway have one for all', () => {
    const tokens = { tokens: 100, microDollars: 0 };
    const bySandbox = groundWith({ sandbox: tokens });
    bySandbox.ask().meter!.count(use({ output: 200 }));
    expect(bySandbox.ask({ sandbox: 'sbx_2' }).meter).toBeDefined();

    const byCredential = groundWith({ credential: tokens });
    byCredential.ask().meter!.count(use({ output: 200 }));
    expect(refusalOf(() => byCredential.ask({ sandbox: 'sbx_2' })).rule).toBe('budgets.credential.tokens');
    expect(byCredential.ask({ credential: 'other' }).meter).toBeDefined();
    expect(byCredential.ask({ credential: null }).meter).toBeDefined();

    const forAll = groundWith({ gateway: tokens });
    forAll.ask().meter!.count(use({ output: 200 }));
    expect(refusalOf(() => forAll.ask({ sandbox: 'sbx_2', credential: null })).rule).toBe('budgets.gateway.tokens');
  });

  test('nothing but requests to models is refused', () => {
    const { ask } = groundWith({ sandbox: { tokens: 1, microDollars: 0 } });
    ask().meter!.count(use({ output: 200 }));
    expect(ask({ host: 'api.example' }).meter).toBeUndefined();
    expect(ask({ path: '/v1/messages/count_tokens' }).meter).toBeUndefined();
    expect(ask({ path: '/v1/models', method: 'GET' }).meter).toBeUndefined();
  });

  test('without a budget everything passes, and is counted for the journal', () => {
    const { ask } = groundWith({});
    const flow = ask();
    flow.meter!.count(use({ model: 'm\u0007\u00e9', output: 5 }));
    flow.meter!.count(use({ model: null, input: 7, cacheRead: 2, isEstimated: true }));
    expect(flow.used).toEqual({ model: 'm??', tokensIn: 9, tokensOut: 5, microDollars: 58, isEstimated: true });
  });
});

describe('a budget begins anew with its period', () => {
  test('and a clock that is set back finds what was spent before', () => {
    const { ask, clock } = groundWith({ period: 'hour', sandbox: { tokens: 100, microDollars: 0 } });
    ask().meter!.count(use({ output: 100 }));
    expect(refusalOf(() => ask()).retryAfterSeconds).toBe(3600);
    clock.now = noon + 3_600_000;
    expect(ask().meter).toBeDefined();
    clock.now = noon + 3_599_500;
    expect(refusalOf(() => ask()).retryAfterSeconds).toBe(1);
  });

  test('what was spent in it can be asked for', () => {
    const { ask, budget } = groundWith({ sandbox: { tokens: 100, microDollars: 7 } });
    ask().meter!.count(use({ input: 3, output: 4 }));
    expect(budget.spentBy('sbx_1')).toEqual({
      period: 'day',
      beginsAt: '2026-11-16T00:00:00.000Z',
      endsAt: '2026-11-17T00:00:00.000Z',
      tokens: 7,
      microDollars: 43,
      limits: { tokens: 100, microDollars: 7 },
    });
    expect(budget.spentBy('sbx_2')).toMatchObject({ tokens: 0, microDollars: 0 });
  });
});

describe('a gateway that begins anew in the middle of a period', () => {
  async function* past(since: number[], sinceMs: number) {
    since.push(sinceMs);
    yield { sandbox: 'sbx_1', credential: 'llm', tokens: 60, microDollars: 5 };
    yield { sandbox: 'sbx_1', credential: null, tokens: 40, microDollars: 5 };
    yield { sandbox: null, credential: null, tokens: 1, microDollars: 0 };
  }

  test('takes what was spent before from where it was written down', async () => {
    const { ask, budget } = groundWith({ sandbox: { tokens: 100, microDollars: 0 } });
    const since: number[] = [];
    await budget.recall((sinceMs) => past(since, sinceMs));
    expect(since).toEqual([Date.parse('2026-11-16T00:00:00Z')]);
    expect(refusalOf(() => ask()).message).toContain('spent 100 of 100');
    expect(ask({ sandbox: 'sbx_2' }).meter).toBeDefined();
  });

  test('reads nothing where there is no budget', async () => {
    const since: number[] = [];
    await groundWith({}).budget.recall((sinceMs) => past(since, sinceMs));
    expect(since).toEqual([]);
  });
});

describe('what a sandbox might hide', () => {
  test('work whose cost no answer says is refused where there is a budget, and only there', () => {
    const { ask } = groundWith({ gateway: { tokens: 0, microDollars: 1 } });
    const refusal = refusalOf(() => ask({ path: '/v1/messages/batches' }));
    expect(refusal).toMatchObject({ code: 'budget.unseen', status: 403, rule: 'budgets.gateway.dollars' });
    expect(groundWith({}).ask({ path: '/v1/messages/batches' }).meter).toBeDefined();
  });

  test('every budget that stands in its way is named, not only the first', () => {
    const { ask } = groundWith({
      sandbox: { tokens: 10, microDollars: 0 },
      gateway: { tokens: 0, microDollars: 1 },
    });
    const { rule, hint } = refusalOf(() => ask({ path: '/v1/messages/batches' }));
    expect(rule).toBe('budgets.sandbox.tokens');
    expect(hint).toContain('taking off budgets.sandbox.tokens and budgets.gateway.dollars.');
  });

  test('an answer that was begun in the background counts when it is fetched, once', () => {
    const { ask, budget } = groundWith({ sandbox: { tokens: 1000, microDollars: 0 } });
    const fetched = () => ask({ path: '/v1/responses/resp_1', method: 'GET' }).meter!;
    expect(fetched().isRetrieval).toBe(true);
    fetched().count(use({ id: 'resp_1', output: 300 }));
    fetched().count(use({ id: 'resp_1', output: 300 }));
    expect(budget.spentBy('sbx_1')).toMatchObject({ tokens: 300 });
    ask().meter!.count(use({ id: 'resp_2', output: 900 }));
    // Spent or not: it is paid for.
    fetched().count(use({ id: 'resp_2', output: 900 }));
    expect(budget.spentBy('sbx_1')).toMatchObject({ tokens: 1200 });
  });

  test('and an estimate of it, made when it was begun, does not stand in for what it cost', () => {
    const { ask, budget } = groundWith({ sandbox: { tokens: 1000, microDollars: 0 } });
    ask({ path: '/v1/responses' }).meter!.count(use({ id: 'resp_1', output: 30, isEstimated: true }));
    ask({ path: '/v1/responses/resp_1', method: 'GET' }).meter!.count(use({ id: 'resp_1', output: 300 }));
    expect(budget.spentBy('sbx_1')).toMatchObject({ tokens: 330 });
  });

  test('a conversation that goes on is told when there is nothing left', () => {
    const { ask } = groundWith({ sandbox: { tokens: 10, microDollars: 0 } });
    const { meter } = ask();
    expect(meter!.over()).toBeNull();
    meter!.count(use({ output: 10 }));
    expect(meter!.over()).toMatchObject({ code: 'budget.tokens' });
  });
});

describe('sums that are kept elsewhere', () => {
  function remote(total: () => Promise<number>): SharedTallies {
    return { add: () => {}, recall: () => {}, total };
  }

  function admitted(tallies: SharedTallies): { flow: Flow; admission: Promise<void> | undefined } {
    const budgets = { ...noBudgets, sandbox: { tokens: 10, microDollars: 10 } };
    const budget = new ModelBudget({ tallies, budgets: () => budgets, now: () => noon });
    const arrived = acceptedFlow(callerFrom(), canonicalOf('POST', 'https://llm.example/v1/messages'));
    const flow: Flow = { ...arrived, sandbox: sandboxWith(), injected: 'llm' };
    const permission = { rule: 'r', tunnel: false, credential: 'llm', git: null, github: null, repository: null };
    return { flow, admission: budget.admit(flow, permission, policy) };
  }

  test('are waited for', async () => {
    await expect(admitted(remote(() => Promise.resolve(9))).admission).resolves.toBeUndefined();
    await expect(admitted(remote(() => Promise.resolve(10))).admission).rejects.toMatchObject({
      code: 'budget.tokens',
    });
  });

  test('that cannot be had let nobody through', async () => {
    const away = admitted(remote(() => Promise.reject(new Error('away')))).admission;
    await expect(away).rejects.toThrow('away');
  });

  test('end a conversation as soon as they are known', async () => {
    let sum = 0;
    const { flow } = admitted(remote(() => Promise.resolve(sum)));
    expect(flow.meter!.over()).toBeNull();
    sum = 10;
    expect(flow.meter!.over()).toBeNull();
    await new Promise((resolve) => setImmediate(resolve));
    expect((flow.meter!.over() as Refusal).code).toBe('budget.tokens');
  });
});
