// Brings a policy into force everywhere: in this process by reading it again, and in every worker with what it has seen of
// the machine. Decides nothing about what the policy says.

import type { LivePolicy } from '../../policy/load/live-policy.ts';
import type { RecordedMachine, SeenByPolicy } from '../workers/recorded-machine.ts';

export interface PolicyTaker {
  /** Resolves when every worker has it. */
  policyChanged(seen: SeenByPolicy): Promise<void>;
}

export class PolicyRollout {
  readonly #live: LivePolicy;
  #spreading: Promise<void> = Promise.resolve();

  /** `workers` null: this process is all there is. */
  constructor(live: LivePolicy, recorded: Pick<RecordedMachine, 'snapshot'>, workers: PolicyTaker | null) {
    this.#live = live;
    if (workers === null) return;
    live.onChange(() => {
      this.#spreading = workers.policyChanged(recorded.snapshot());
    });
  }

  /** Resolves when the file as it is now is in force in every process. Throws PolicyRejected. */
  async reload(): Promise<void> {
    await this.#live.reload();
    await this.#spreading;
  }
}
