// Puts the parts of a header block together: what HEADERS and the CONTINUATION frames behind it carry. A block that lies in
// one frame is not copied. Bounded in bytes and in frames: nobody can begin a head that never ends.
import { frameFlag } from './frame-format.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';

/** A frame holds 16 KiB, and a head hardly more. */
const maxContinuations = 16;

export interface BlockHandler {
  onBlock(stream: number, isLast: boolean, dependsOnItself: boolean, bytes: Buffer, start: number, end: number): void;
}

export class HeadBlock {
  /** The stream whose block is not whole; 0: none. */
  stream = 0;
  readonly #handler: BlockHandler;
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isLast = false;
  #dependsOnItself = false;

  constructor(handler: BlockHandler, maxBytes: number) {
    this.#handler = handler;
    this.#maxBytes = maxBytes;
  }

  begin(flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    let start = from;
    let end = to;
    if ((flags & frameFlag.padded) !== 0) {
      if (start >= end) throw new Http2Fault(errorCode.frameSize, 'padding without a length');
      end -= bytes[start++]!;
    }
    let dependsOnItself = false;
    if ((flags & frameFlag.priority) !== 0) {
      if (to - start < 5) throw new Http2Fault(errorCode.frameSize, 'a priority that is too short');
      dependsOnItself = (bytes.readUInt32BE(start) & 0x7fffffff) === stream;
      start += 5;
    }
    if (start > end) throw new Http2Fault(errorCode.protocol, 'padding longer than its frame');
    const isLast = (flags & frameFlag.endStream) !== 0;
    if ((flags & frameFlag.endHeaders) !== 0) {
      this.#handler.onBlock(stream, isLast, dependsOnItself, bytes, start, end);
      return;
    }
    this.stream = stream;
    this.#isLast = isLast;
    this.#dependsOnItself = dependsOnItself;
    this.#add(bytes, start, end);
  }

  continue(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    if (this.stream === 0 || stream !== this.stream) {
      throw new Http2Fault(errorCode.protocol, 'a continuation of nothing');
    }
    this.#add(bytes, start, end);
    if ((flags & frameFlag.endHeaders) === 0) return;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.stream = 0;
    this.#handler.onBlock(stream, this.#isLast, this.#dependsOnItself, whole, 0, whole.length);
  }

  #add(bytes: Buffer, start: number, end: number): void {
    this.#bytes += end - start;
    if (this.#bytes > this.#maxBytes || this.#parts.length > maxContinuations) {
      throw new Http2Fault(errorCode.enhanceYourCalm, 'a head that does not end');
    }
    // The chunk it came in may be gone by the time the rest is here.
    this.#parts.push(Buffer.from(bytes.subarray(start, end)));
  }
}
