// What the relays over HTTP/1.1 and HTTP/2 share: their time limits, and how one says that it may be tried again.
import type { Sweeper } from '../kit/sweeper.ts';

export interface RelaySettings {
  readonly sweeper: Sweeper;
  readonly headBytes: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** A kept-alive connection turned out to be closed before it answered anything: the request may be tried once more. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

/** One or two are usual; without end they would be written to a client that need not be reading. */
export const maxInterimAnswers = 16;
