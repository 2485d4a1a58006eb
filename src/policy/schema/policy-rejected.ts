// A policy that is not valid, with everything that is wrong with it at once.
import { formatPolicyError, type PolicyError } from './policy-error.ts';

/** Its message is one line for each error: `file:line:column: path: what to write instead`. */
export class PolicyRejected extends Error {
  override readonly name = 'PolicyRejected';
  readonly errors: readonly PolicyError[];

  constructor(errors: readonly PolicyError[]) {
    super(errors.map(formatPolicyError).join('\n'));
    this.errors = errors;
  }
}
