// What the relays share: the flow as they get it, their time limits, and how one says that it may be tried again.

import type { Sweeper } from '../../../kit/sweeper.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import type { Injected } from '../../../path/flow.ts';
import type { AnswerWatch } from '../dial/upstream-circuits.ts';

/** A flow that is ready to be sent. Relays speak to the client through `wrapped` alone: nothing passes it by. */
export interface Wrapped extends Injected {
  readonly wrapped: Exchange;
}

export interface RelaySettings {
  readonly sweeper: Sweeper;
  readonly headBytes: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly watch: AnswerWatch;
}

/**
 * Time in which the gateway itself held a body back (a limit of bytes) is nobody's silence: the deadline anew, or null where
 * it did not. `answered`: the head of the answer has come.
 */
export function deadlineAfterPause(exchange: Exchange, settings: RelaySettings, answered: boolean): number | null {
  const { sweeper, headersTimeoutMs, idleTimeoutMs } = settings;
  const heldBackUntilMs = Math.min(exchange.heldBackUntilMs ?? Number.NEGATIVE_INFINITY, sweeper.nowMs);
  const deadlineMs = heldBackUntilMs + (answered ? idleTimeoutMs : headersTimeoutMs);
  return deadlineMs > sweeper.nowMs ? deadlineMs : null;
}

/** A kept-alive connection turned out to be closed before it answered anything: the request may be tried once more. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

/** One or two are usual; without end they would be written to a client that need not be reading. */
export const maxInterimAnswers = 16;
