// The text from which a policy in force was made. The file may have been edited since, and what it says now may have been
// rejected: whoever points at a line must point into this.
import type { CompiledPolicy } from '../compiled.ts';

export interface PolicySource {
  /** The file, or `embedded default`. */
  readonly file: string;
  readonly text: string;
  /** Milliseconds since the epoch. It comes into force at once, or never. */
  readonly madeAtMs: number;
}

/** Beside the policy and not in it: stages have no use for it, and it goes when the policy does. */
const sources = new WeakMap<CompiledPolicy, PolicySource>();

export function keepSource(policy: CompiledPolicy, source: PolicySource): void {
  sources.set(policy, source);
}

/** Null: it was not made from a text. */
export function sourceOf(policy: CompiledPolicy): PolicySource | null {
  return sources.get(policy) ?? null;
}
