// What a model's answer has cost: opened by `authorize/` for a request that goes to the API of a model, told by `forward/`,
// which reads the answer as it passes. Never delays an answer, changes it or keeps any of it.
import type { Refusal } from '../refusal.ts';

/** What one answer used, in tokens; each is counted once. */
export interface TokenUse {
  /** As the upstream names it: not to be believed to be short or printable. */
  readonly model: string | null;
  /** What the upstream calls this answer. */
  readonly id: string | null;
  /**
   * It goes on from what the upstream has kept, and did not say how much that was: the id of the answer before it, or '' for a
   * conversation. Null: it does not, or its input is what it said.
   */
  readonly follows: string | null;
  readonly input: number;
  readonly output: number;
  /** Input that came out of the provider's cache, and that was put there. */
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Some of it was not said by the upstream, but made up from the length of what was sent and came. */
  readonly isEstimated: boolean;
}

export interface AnswerMeter {
  /** What the answer says itself counts, because it may have been counted before: only one that is cut off is estimated. */
  readonly isRetrieval: boolean;
  /** As soon as it is known: for one answer at its end, on a WebSocket after every one. */
  count(use: TokenUse): void;
  /** Why a conversation that goes on (WebSocket) must end here; null: it may go on. */
  over(): Refusal | null;
}

/** All that one flow has used so far, for the journal. */
export interface Used {
  readonly model: string | null;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly microDollars: number;
  readonly isEstimated: boolean;
}

/** What one request in the past has cost, as it was written down. */
export interface PastSpending {
  readonly sandbox: string | null;
  readonly credential: string | null;
  readonly tokens: number;
  readonly microDollars: number;
}
