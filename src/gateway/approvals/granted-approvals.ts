// Keeps what was approved for a while, and who learns, in the gateway's own process, and tells it whole to whoever serves
// requests. In memory alone: a restart forgets it all, and the door is shut again.
import type { Approval, ApprovalScope, ApprovalSet, Asked } from '../../path/approvals.ts';
import { AnswerRefused } from './answer-refused.ts';
import type { ApprovalsInForce } from './approvals-in-force.ts';
import { coveredBy } from './covered-by.ts';

export interface GrantedOptions {
  readonly inForce: ApprovalsInForce;
  /** Tells the other processes of this gateway; resolves when it is in force in all of them. */
  readonly spread: (set: ApprovalSet) => Promise<void>;
  readonly now: () => number;
}

/** More would be a policy that nobody reads. */
const maxApprovals = 1000;

export class GrantedApprovals {
  readonly #inForce: ApprovalsInForce;
  readonly #spread: GrantedOptions['spread'];
  readonly #now: () => number;
  readonly #approvals = new Map<string, Approval>();
  readonly #learning = new Set<string>();
  #count = 0;

  constructor({ inForce, spread, now }: GrantedOptions) {
    this.#inForce = inForce;
    this.#spread = spread;
    this.#now = now;
  }

  list(): readonly Approval[] {
    this.#forgetOver();
    return [...this.#approvals.values()];
  }

  find(id: string): Approval | null {
    this.#forgetOver();
    return this.#approvals.get(id) ?? null;
  }

  /** What would be granted; nothing is yet. Throws an AnswerRefused where there is no room for more. */
  approvalOf(asked: Asked, minutes: number, scope: ApprovalScope, by: string): Approval {
    this.#forgetOver();
    if (this.#approvals.size >= maxApprovals) {
      const hint = 'End some of them (`sallyport approve` lists them), or put the rule into the policy.';
      throw new AnswerRefused('not-so', `${maxApprovals} approvals are in force already`, hint);
    }
    const untilMs = this.#now() + minutes * 60_000;
    return { id: `a${this.#count + 1}`, sandbox: asked.sandbox, untilMs, by, covers: coveredBy(asked, scope) };
  }

  async grant(approval: Approval): Promise<void> {
    this.#count++;
    this.#approvals.set(approval.id, approval);
    await this.#tell();
  }

  /** False: there is none. */
  async withdraw(id: string): Promise<boolean> {
    if (this.find(id) === null) return false;
    this.#approvals.delete(id);
    await this.#tell();
    return true;
  }

  async startLearning(sandbox: string): Promise<void> {
    this.#learning.add(sandbox);
    await this.#tell();
  }

  /** The sandbox is gone: another one of that name starts with nothing. */
  async drop(sandbox: string): Promise<void> {
    let isChanged = this.#learning.delete(sandbox);
    for (const { id, sandbox: whose } of this.#approvals.values()) {
      if (whose === sandbox) isChanged = this.#approvals.delete(id);
    }
    if (isChanged) await this.#tell();
  }

  async #tell(): Promise<void> {
    const set: ApprovalSet = { approvals: [...this.#approvals.values()], learning: [...this.#learning] };
    this.#inForce.replace(set);
    await this.#spread(set);
  }

  #forgetOver(): void {
    const nowMs = this.#now();
    for (const { id, untilMs } of this.#approvals.values()) if (untilMs <= nowMs) this.#approvals.delete(id);
  }
}
