// How much may be spent at the providers of models, by one sandbox, with one credential and by all together: asked before a
// request goes to a model, added to when its answer has said what it cost. What is in flight when a budget is used up
// is still answered, and counts: that is how far a budget can be overrun. Nothing but requests to models is refused.

import { LRUCache } from 'lru-cache';
import { asciiWord } from '../../../kit/text/unseen.ts';
import { enrich } from '../../../path/enrich.ts';
import type { AnswerMeter, PastSpending, TokenUse, Used } from '../../../path/exchange/answer-meter.ts';
import type { Identified, Injected, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { SharedTallies } from '../../../path/shared-store.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import type { BudgetLimits, BudgetPeriod, Budgets } from '../../../policy/compiled-limits.ts';
import { type Period, periodAt } from './budget-period.ts';
import { ModelPrices } from './budget-prices.ts';
import { modelRequest } from './budget-request.ts';

export interface ModelBudgetOptions {
  readonly tallies: SharedTallies;
  /** Asked for every request, so that a reload holds at once. */
  readonly budgets: () => Budgets;
  readonly prices?: ModelPrices;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** What was spent in the period that is under way. */
export interface Spent {
  readonly period: BudgetPeriod;
  readonly beginsAt: string;
  readonly endsAt: string;
  readonly tokens: number;
  readonly microDollars: number;
  /** 0: no limit. */
  readonly limits: BudgetLimits;
}

type Scope = 'sandbox' | 'credential' | 'gateway';
type Unit = 'tokens' | 'dollars';

/** One sum and what it may come to. */
interface Bound {
  readonly key: string;
  readonly limit: number;
  readonly scope: Scope;
  readonly unit: Unit;
  /** e.g. `the sandbox sbx_1`. */
  readonly whose: string;
}

/** Kept after its end: a clock that is set back finds it again. */
const keepAfterMs = 24 * 3_600_000;
/** What has been counted and could be fetched again. */
const maxRemembered = 4096;

export class ModelBudget {
  readonly #tallies: SharedTallies;
  readonly #budgets: () => Budgets;
  readonly #now: () => number;
  #prices: ModelPrices | null;
  readonly #counted = new Set<string>();
  readonly #contexts = new KeptContexts();

  constructor({ tallies, budgets, prices, now }: ModelBudgetOptions) {
    this.#tallies = tallies;
    this.#budgets = budgets;
    this.#prices = prices ?? null;
    this.#now = now ?? Date.now;
  }

  /** Throws where a budget is used up; else a request to a model has its meter from here on. At once where the sums are here. */
  admit(flow: Identified, permission: Permission, policy: CompiledPolicy): undefined | Promise<void> {
    const asked = modelRequest(policy, flow.canonical, flow.request.headers, permission.credential !== null);
    if (asked === null) return;
    const bounds = this.#boundsOf(flow.sandbox.id, permission.credential);
    if (asked.kind === 'unseen' && bounds.length > 0) throw unseen(flow, bounds, asked.what, asked.instead);
    enrich(flow, { meter: this.#meterOf(flow, permission, asked.kind === 'retrieval') });
    // What was asked for before may be fetched: it is paid for.
    if (bounds.length === 0 || asked.kind === 'retrieval') return;
    const refused = this.#findSpent(bounds);
    if (refused instanceof Promise) return refused.then(throwIf);
    throwIf(refused);
    return;
  }

  /**
   * What was spent at this gateway in the period that is under way, before this process began: its memory is gone, and a store
   * may have been away then or have lost it since. To be waited for before the first request. Where there is no budget,
   * nothing is asked.
   */
  async recall(spentSince: (sinceMs: number) => AsyncIterable<PastSpending>): Promise<void> {
    const { period, sandbox, credential, gateway } = this.#budgets();
    if (![sandbox, credential, gateway].some(({ tokens, microDollars }) => tokens > 0 || microDollars > 0)) return;
    const { beginsAtMs } = periodAt(this.#now(), period);
    for await (const spent of spentSince(beginsAtMs)) this.#add(spent, 'recall');
  }

  spentBy(sandboxId: string): Spent | Promise<Spent> {
    const { period: length, sandbox } = this.#budgets();
    const period = periodAt(this.#now(), length);
    const sums = [`s:${sandboxId}:tokens`, `s:${sandboxId}:dollars`].map((name) =>
      this.#tallies.total(keyOf(period, name)),
    );
    const spent = (tokens: number, microDollars: number): Spent => ({
      period: length,
      beginsAt: new Date(period.beginsAtMs).toISOString(),
      endsAt: new Date(period.endsAtMs).toISOString(),
      tokens,
      microDollars,
      limits: sandbox,
    });
    const [tokens, dollars] = sums;
    if (typeof tokens === 'number' && typeof dollars === 'number') return spent(tokens, dollars);
    return Promise.all(sums).then(([all, money]) => spent(all!, money!));
  }

  #meterOf(flow: Identified & Partial<Injected>, permission: Permission, isRetrieval: boolean): AnswerMeter {
    let late: Refusal | null = null;
    return {
      isRetrieval,
      count: (use) => this.#count(flow, use, isRetrieval),
      over: () => {
        const refused = this.#findSpent(this.#boundsOf(flow.sandbox.id, permission.credential));
        if (!(refused instanceof Promise)) return refused;
        // Asked elsewhere: what is found out now holds for what comes next.
        refused.then(
          (found) => {
            late = found;
          },
          () => {},
        );
        return late;
      },
    };
  }

  #count(flow: Identified & Partial<Injected>, told: TokenUse, isRetrieval: boolean): void {
    if (isRetrieval && told.id !== null && this.#counted.has(told.id)) return;
    const use = this.#contexts.complete(flow.sandbox.id, told);
    // What was only estimated (an answer that is made in the background) has its true cost still to come.
    if (use.id !== null && !use.isEstimated) this.#remember(use.id);
    const budgets = this.#budgets();
    this.#prices ??= new ModelPrices();
    const tokensIn = use.input + use.cacheRead + use.cacheWrite;
    const microDollars = this.#prices.costOf(use, budgets.prices);
    const { sandbox, injected: credential = null } = flow;
    this.#add({ sandbox: sandbox.id, credential, tokens: tokensIn + use.output, microDollars });
    enrich(flow, { used: addedTo(flow.used, use, tokensIn, microDollars) });
  }

  #add({ sandbox, credential, tokens, microDollars }: PastSpending, how: 'add' | 'recall' = 'add'): void {
    const nowMs = this.#now();
    const period = periodAt(nowMs, this.#budgets().period);
    const keepMs = period.endsAtMs - nowMs + keepAfterMs;
    for (const name of scopesOf(sandbox, credential)) {
      this.#tallies[how](keyOf(period, `${name}:tokens`), tokens, keepMs);
      this.#tallies[how](keyOf(period, `${name}:dollars`), microDollars, keepMs);
    }
  }

  #remember(id: string): void {
    const [oldest] = this.#counted;
    if (oldest !== undefined && this.#counted.size >= maxRemembered) this.#counted.delete(oldest);
    this.#counted.add(id);
  }

  #boundsOf(sandboxId: string, credential: string | null): Bound[] {
    const { period: length, sandbox, credential: forCredential, gateway } = this.#budgets();
    const bounds: Bound[] = [];
    let period: Period | null = null;
    const add = (scope: Scope, name: string, whose: string, { tokens, microDollars }: BudgetLimits): void => {
      if (tokens === 0 && microDollars === 0) return;
      period ??= periodAt(this.#now(), length);
      const common = { scope, whose };
      if (tokens > 0) bounds.push({ ...common, key: keyOf(period, `${name}:tokens`), limit: tokens, unit: 'tokens' });
      if (microDollars > 0)
        bounds.push({ ...common, key: keyOf(period, `${name}:dollars`), limit: microDollars, unit: 'dollars' });
    };
    add('sandbox', `s:${sandboxId}`, `the sandbox ${sandboxId}`, sandbox);
    if (credential !== null) add('credential', `c:${credential}`, `the credential ${credential}`, forCredential);
    add('gateway', 'g', 'all sandboxes together', gateway);
    return bounds;
  }

  /** The refusal for the first sum that has come to its limit; null: none has. */
  #findSpent(bounds: readonly Bound[]): Refusal | null | Promise<Refusal | null> {
    const sums: (number | Promise<number>)[] = bounds.map(({ key }) => this.#tallies.total(key));
    const judge = (totals: readonly number[]): Refusal | null => {
      const at = totals.findIndex((total, i) => total >= bounds[i]!.limit);
      return at < 0 ? null : this.#usedUp(bounds[at]!, totals[at]!);
    };
    if (sums.every((sum) => typeof sum === 'number')) return judge(sums as number[]);
    return Promise.all(sums).then(judge);
  }

  #usedUp({ scope, unit, whose, limit }: Bound, total: number): Refusal {
    const { period: length } = this.#budgets();
    const { endsAtMs } = periodAt(this.#now(), length);
    const rule = `budgets.${scope}.${unit}`;
    const [spent, most] = unit === 'tokens' ? [`${total}`, `${limit} tokens`] : [inDollars(total), inDollars(limit)];
    const anew = new Date(endsAtMs).toISOString().slice(0, 16).replace('T', ' ');
    return new Refusal(
      `budget.${unit}`,
      `the budget for models is used up: ${whose} spent ${spent} of ${most} for this ${length}`,
      {
        rule,
        hint: `It begins anew at ${anew} UTC. The operator can raise ${rule}.`,
        retryAfterSeconds: Math.max(1, Math.ceil((endsAtMs - this.#now()) / 1000)),
      },
    );
  }
}

/** Every budget stands in its way: to take off one of several would change nothing. */
function unseen({ canonical }: Identified, bounds: readonly Bound[], what: string, instead: string): Refusal {
  const rules = bounds.map(({ scope, unit }) => `budgets.${scope}.${unit}`);
  return new Refusal(
    'budget.unseen',
    `${canonical.method} ${canonical.path} ${what}, and there is a budget to keep to`,
    {
      rule: rules[0]!,
      hint: `${instead} The operator can allow it by taking off ${rules.join(' and ')}.`,
    },
  );
}

function scopesOf(sandbox: string | null, credential: string | null): string[] {
  return [...(sandbox === null ? [] : [`s:${sandbox}`]), ...(credential === null ? [] : [`c:${credential}`]), 'g'];
}

function keyOf(period: Period, name: string): string {
  return `b:${period.key}:${name}`;
}

function addedTo(before: Used | undefined, use: TokenUse, tokensIn: number, microDollars: number): Used {
  return {
    model: use.model === null ? (before?.model ?? null) : asciiWord(use.model),
    tokensIn: (before?.tokensIn ?? 0) + tokensIn,
    tokensOut: (before?.tokensOut ?? 0) + use.output,
    microDollars: (before?.microDollars ?? 0) + microDollars,
    isEstimated: use.isEstimated || before?.isEstimated === true,
  };
}

function inDollars(microDollars: number): string {
  return `$${(microDollars / 1_000_000).toFixed(microDollars < 10_000 ? 6 : 2)}`;
}

function throwIf(refusal: Refusal | null): void {
  if (refusal !== null) throw refusal;
}

// Providers keep conversations and read them again for every answer that continues one. The sandbox does not send that part,
// and an answer that is cut off early does not say how long it was. This file remembers the lengths by the ids of answers, so
// that nobody hides the cost of a long conversation by leaving early. Bounded; it never keeps any content.
const maxAnswers = 4096;
const maxSandboxes = 4096;

export class KeptContexts {
  /** Tokens of an answer and of all that it was given, by its id. */
  readonly #answers = new LRUCache<string, number>({ max: maxAnswers });
  /** The most that one answer was given, by sandbox. */
  readonly #largest = new LRUCache<string, number>({ max: maxSandboxes });

  /** The use with what it goes on from in it, where it does not say that itself. To be called once for each, in their order. */
  complete(sandboxId: string, use: TokenUse): TokenUse {
    const largest = this.#largest.get(sandboxId) ?? 0;
    // Of a conversation, or of an answer that was long ago or elsewhere, nobody knows how long it is.
    const kept = use.follows === null ? 0 : (this.#answers.get(use.follows) ?? largest);
    const whole = { ...use, input: Math.max(use.input, kept) };
    const given = whole.input + whole.cacheRead + whole.cacheWrite;
    // One that is fetched again and cut off says less than before.
    if (use.id !== null) this.#answers.set(use.id, Math.max(given + whole.output, this.#answers.get(use.id) ?? 0));
    if (given > largest) this.#largest.set(sandboxId, given);
    return whole;
  }
}
