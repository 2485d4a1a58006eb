// Large pieces that arrive in one turn of the event loop leave together: a read of 64 KiB comes as four TLS records, and four
// writes cost nearly four times what one does. Small pieces, events of a stream, are never held.
import type { Writable } from 'node:stream';

export const largeBytes = 8 * 1024;
/** How much may wait on one stream of HTTP/2 before its source is paused: with all streams of a session below its memory. */
const unsentBytes = 64 * 1024;

export class TurnCork {
  readonly #sink: Pick<Writable, 'cork' | 'uncork'>;
  #isCorked = false;

  constructor(sink: Pick<Writable, 'cork' | 'uncork'>) {
    this.#sink = sink;
  }

  /** A piece is about to be written. */
  before(piece: Buffer): void {
    if (piece.length >= largeBytes) this.hold();
  }

  /** Until this turn is over. */
  hold(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#sink.cork();
    setImmediate(this.#uncork);
  }

  readonly #uncork = (): void => {
    this.#isCorked = false;
    this.#sink.uncork();
  };
}

/** node:http2 asks its source to stop after every frame and offers no setting for that. */
export function holdMuchUnsent(stream: Writable): void {
  const state: unknown = Reflect.get(stream, '_writableState');
  if (typeof state === 'object' && state !== null) Reflect.set(state, 'highWaterMark', unsentBytes);
}
