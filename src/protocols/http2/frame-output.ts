// What is to be sent on one connection, gathered until the turn of the event loop is over and then written at once: heads and
// small bodies of many streams in one piece, large content as it came, not copied. Nothing waits longer than its turn.
import { frameFlag, frameHeadBytes } from './frame-format.ts';

/** What is needed of a socket. */
export interface Http2Sink {
  write(bytes: Buffer): boolean;
  cork(): void;
  uncork(): void;
}

/** Below this, copying is cheaper than a piece of its own. */
const joinBytes = 4 * 1024;
const slabBytes = 64 * 1024;
/** So much is written without waiting for the end of the turn. */
const muchBytes = 128 * 1024;

/** Where the flags of the last frame of a stream stand, as long as it has not left. */
export interface LastFrame {
  slab: Buffer | null;
  flagsAt: number;
  turn: number;
}

export class FrameOutput {
  /** False: the sink holds as much as it should. */
  isFree = true;
  /** All that was ever written. */
  bytes = 0;
  readonly #sink: Http2Sink;
  #slab = Buffer.allocUnsafeSlow(0);
  /** What of the slab is not among the parts yet: from here to `#at`. */
  #from = 0;
  #at = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;
  #isScheduled = false;
  #isShut = false;
  #turn = 0;

  constructor(sink: Http2Sink) {
    this.#sink = sink;
  }

  /** Room for so many bytes, to be filled from `at` on; `commit` says how many it became. */
  room(bytes: number): Buffer {
    if (this.#slab.length - this.#at < bytes) {
      this.#closePart();
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
      this.#from = 0;
      this.#at = 0;
    }
    return this.#slab;
  }

  get at(): number {
    return this.#at;
  }

  commit(end: number): void {
    this.#at = end;
    this.#schedule();
  }

  /** The head of a frame; its payload is to follow. */
  head(length: number, type: number, flags: number, stream: number): void {
    const slab = this.room(frameHeadBytes);
    writeFrameHead(slab, this.#at, length, type, flags, stream);
    this.#at += frameHeadBytes;
    this.#schedule();
  }

  /** A frame with what fits into one or two words. */
  words(type: number, flags: number, stream: number, first: number, second?: number): void {
    const length = second === undefined ? 4 : 8;
    this.room(frameHeadBytes + length);
    this.head(length, type, flags, stream);
    this.#slab.writeUInt32BE(first, this.#at);
    if (second !== undefined) this.#slab.writeUInt32BE(second, this.#at + 4);
    this.#at += length;
  }

  /** The payload behind a head. It must not change any more. */
  content(bytes: Buffer): void {
    if (bytes.length <= joinBytes) {
      const slab = this.room(bytes.length);
      bytes.copy(slab, this.#at);
      this.#at += bytes.length;
    } else {
      this.#closePart();
      this.#parts.push(bytes);
      this.#partBytes += bytes.length;
      if (this.#partBytes >= muchBytes) this.flush();
    }
  }

  /** The frame whose head was written last is the last of its stream so far. Call before its content. */
  remember(last: LastFrame, headAt: number): void {
    last.slab = this.#slab;
    last.flagsAt = headAt + 4;
    last.turn = this.#turn;
  }

  /** Ends the stream with a frame that has not left yet. False: it has. */
  endWith(last: LastFrame): boolean {
    const { slab } = last;
    last.slab = null;
    if (slab === null || last.turn !== this.#turn) return false;
    slab[last.flagsAt]! |= frameFlag.endStream;
    return true;
  }

  /** Nothing is sent any more. */
  shut(): void {
    this.#isShut = true;
    this.#parts = [];
    this.#slab = Buffer.allocUnsafeSlow(0);
    this.#from = 0;
    this.#at = 0;
  }

  flush(): void {
    this.#closePart();
    if (this.#isShut) this.#parts.length = 0;
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#turn++;
    this.bytes += this.#partBytes;
    this.#parts = [];
    this.#partBytes = 0;
    if (parts.length === 1) {
      this.isFree = this.#sink.write(parts[0]!);
      return;
    }
    this.#sink.cork();
    for (const part of parts) this.isFree = this.#sink.write(part);
    this.#sink.uncork();
  }

  #closePart(): void {
    if (this.#at === this.#from) return;
    this.#parts.push(this.#slab.subarray(this.#from, this.#at));
    this.#partBytes += this.#at - this.#from;
    this.#from = this.#at;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    this.flush();
  };
}

export function writeFrameHead(
  to: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  to[at] = length >> 16;
  to[at + 1] = length >> 8;
  to[at + 2] = length;
  to[at + 3] = type;
  to[at + 4] = flags;
  to[at + 5] = stream >> 24;
  to[at + 6] = stream >> 16;
  to[at + 7] = stream >> 8;
  to[at + 8] = stream;
}
