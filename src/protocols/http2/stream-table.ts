// Which streams a connection has: those that are open, the last that was opened, and those that we ended lately, of which the
// client may not know yet. A bounded memory: what is older is a stream like any other that was closed.
import { errorCode, Http2Fault } from './http2-fault.ts';
import type { Http2Stream } from './http2-stream.ts';

const maxForgotten = 512;

export class StreamTable {
  readonly open = new Map<number, Http2Stream>();
  #last = 0;
  /** The last that is served; the client may ask all behind it elsewhere. */
  lastServed = 0;
  readonly #ended = new Set<number>();
  /** Answered, though the client has not sent all of its request: since the last look, and before. */
  #unfinished = new Set<number>();
  #long = new Set<number>();

  /** A head came for a stream that is not open. False: it is for one that we have ended. */
  isNew(id: number): boolean {
    if (id <= this.#last) {
      if (!this.wasEndedHere(id)) throw new Http2Fault(errorCode.protocol, 'a head for a stream that was closed');
      return false;
    }
    if (id % 2 === 0) throw new Http2Fault(errorCode.protocol, 'a client opens a stream with an even number');
    this.#last = id;
    return true;
  }

  /** For a stream that is not open. Throws where nothing was opened yet. */
  wasEndedHere(id: number): boolean {
    if (id > this.#last || id % 2 === 0) {
      throw new Http2Fault(errorCode.protocol, 'a frame for a stream that was never opened');
    }
    return this.#ended.has(id);
  }

  answered(id: number): void {
    this.endedHere(id);
    this.#unfinished.add(id);
  }

  /** The client has sent all of it after all. */
  finished(id: number): void {
    this.#unfinished.delete(id);
    this.#long.delete(id);
  }

  /** Those that have been so for longer than since it was last asked. */
  longUnfinished(): Iterable<number> {
    const long = this.#long;
    this.#long = this.#unfinished;
    this.#unfinished = new Set();
    return long;
  }

  endedHere(id: number): void {
    this.#ended.add(id);
    if (this.#ended.size <= maxForgotten) return;
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest);
      break;
    }
  }
}
