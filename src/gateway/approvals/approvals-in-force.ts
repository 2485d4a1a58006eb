// What people have approved for a while, as every process that serves requests knows it: the policy as it holds for one
// sandbox meanwhile. Only ever adds what was approved, to that sandbox alone, and forgets it by the clock. Asks nobody.
import type { Approval, ApprovalSet, ShownEffect } from '../../path/approvals.ts';
import type { AllowRule, CompiledPolicy } from '../../policy/compiled.ts';
import { exactHost } from '../../policy/host-pattern.ts';
import { learningView } from './learning-view.ts';

interface Own {
  /** In the order in which they were given. */
  approvals: readonly Approval[];
  readonly isLearning: boolean;
  /** When the first of them is over. */
  soonestMs: number;
  /** The policy with them in front, and what it was made of. */
  view: { readonly of: CompiledPolicy; readonly is: CompiledPolicy } | null;
}

export interface ApprovalsInForceOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export class ApprovalsInForce {
  readonly #now: () => number;
  #set: ApprovalSet = { approvals: [], learning: [] };
  #own = new Map<string, Own>();

  constructor({ now }: ApprovalsInForceOptions = {}) {
    this.#now = now ?? Date.now;
  }

  /** As it was told last; some of it may be over by now. */
  get set(): ApprovalSet {
    return this.#set;
  }

  /** All of it anew: from now on this is in force and nothing else. */
  replace(set: ApprovalSet): void {
    this.#set = set;
    const own = new Map<string, Own>();
    for (const sandbox of new Set([...set.approvals.map((one) => one.sandbox), ...set.learning])) {
      const approvals = set.approvals.filter((one) => one.sandbox === sandbox);
      const isLearning = set.learning.includes(sandbox);
      own.set(sandbox, { approvals, isLearning, soonestMs: soonestOf(approvals), view: null });
    }
    this.#own = own;
  }

  isLearning(sandbox: string): boolean {
    return this.#own.get(sandbox)?.isLearning === true;
  }

  /** The very policy where nothing was approved for this sandbox: a look-up is all it costs. */
  policyFor(policy: CompiledPolicy, sandbox: string): CompiledPolicy {
    const own = this.#own.get(sandbox);
    if (own === undefined) return policy;
    this.#forgetOver(sandbox, own);
    if (own.view?.of !== policy) own.view = { of: policy, is: viewOf(policy, own) };
    return own.view.is;
  }

  /** Whether it may have this effect on GitHub unasked: at that server, and with that credential. */
  coversEffect(sandbox: string, about: ShownEffect): boolean {
    const own = this.#own.get(sandbox);
    if (own === undefined) return false;
    this.#forgetOver(sandbox, own);
    return own.approvals.some(
      ({ covers }) =>
        covers.kind === 'effect' &&
        covers.effect === about.effect &&
        (covers.repository === null || covers.repository === about.repository) &&
        covers.scheme === about.scheme &&
        covers.host === about.host &&
        covers.port === about.port &&
        covers.credential === about.credential,
    );
  }

  #forgetOver(sandbox: string, own: Own): void {
    const nowMs = this.#now();
    if (own.soonestMs > nowMs) return;
    own.approvals = own.approvals.filter(({ untilMs }) => untilMs > nowMs);
    own.soonestMs = soonestOf(own.approvals);
    own.view = null;
    if (own.approvals.length === 0 && !own.isLearning) this.#own.delete(sandbox);
  }
}

function soonestOf(approvals: readonly Approval[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...approvals.map(({ untilMs }) => untilMs));
}

function viewOf(policy: CompiledPolicy, { approvals, isLearning }: Own): CompiledPolicy {
  const below = isLearning ? learningView(policy) : policy;
  const rules = approvals.flatMap((approval) => ruleOf(policy, approval));
  if (rules.length === 0) return below;
  return {
    ...below,
    allow: [...rules, ...below.allow],
    rulesFor: (host) => {
      const own = rules.filter((rule) => rule.host.text === host);
      return own.length === 0 ? below.rulesFor(host) : [...own, ...below.rulesFor(host)];
    },
  };
}

/** As narrow as what was asked: one host, one port, one method, and the one path unless it was given for all of them. */
function ruleOf(policy: CompiledPolicy, { id, covers }: Approval): AllowRule[] {
  if (covers.kind !== 'request') return [];
  const { host, port, path, tunnel, websocket } = covers;
  return [
    {
      name: `approval ${id}`,
      line: null,
      host: exactHost(host),
      methods: tunnel ? null : new Set([covers.method]),
      // The text itself and not a pattern: a star in it is a star.
      paths: path === null || tunnel ? null : [{ text: path, covers: (other) => other === path }],
      ports: [port],
      plainHttp: covers.scheme === 'http',
      tunnel,
      // An approval lets it pass; what its bodies are is still for the policy to say.
      conversation: policy.rulesFor(host).some((rule) => rule.conversation),
      ask: false,
      websocket,
      carries: covers.credential,
    },
  ];
}
