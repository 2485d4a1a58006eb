// Cuts the bytes of a connection into frames. Content of DATA is passed on as it comes, in slices of the chunk it came in;
// every other frame is given when it is whole, out of the chunk where it lies in one. Holds one frame at most.
import { frameFlag, frameHeadBytes, frameType, usualFrameBytes } from './frame-format.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';

export interface FrameHandler {
  /** Nothing more is to be read. */
  readonly isOver: boolean;
  /** The payload is `bytes` from `start` to `end`, until this returns. */
  onFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void;
  /** A DATA frame begins. `length`: with its padding, as flow control counts it. */
  onDataFrame(stream: number, flags: number, length: number): void;
  /** Some of its content. */
  onContent(bytes: Buffer): void;
  onDataEnd(stream: number, flags: number): void;
}

export class Http2FrameReader {
  readonly #handler: FrameHandler;
  readonly #head = Buffer.alloc(frameHeadBytes);
  #headHave = 0;
  #type = 0;
  #flags = 0;
  #stream = 0;
  /** What is not here yet of a frame that is being gathered. */
  #gathered: Buffer | null = null;
  #gatheredHave = 0;
  /** -1: no DATA frame is under way. */
  #dataLeft = -1;
  #padding = 0;
  #awaitsPadLength = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  feed(chunk: Buffer, from: number): void {
    let at = from;
    while (!this.#handler.isOver) {
      if (this.#dataLeft >= 0) {
        at = this.#readData(chunk, at);
        if (this.#dataLeft >= 0) return;
      }
      if (at === chunk.length) return;
      at = this.#gathered === null ? this.#readHead(chunk, at) : this.#gather(chunk, at);
    }
  }

  #readHead(chunk: Buffer, at: number): number {
    if (this.#headHave === 0 && chunk.length - at >= frameHeadBytes) {
      return this.#begin(chunk, at, chunk, at + frameHeadBytes);
    }
    const taken = Math.min(frameHeadBytes - this.#headHave, chunk.length - at);
    chunk.copy(this.#head, this.#headHave, at, at + taken);
    this.#headHave += taken;
    if (this.#headHave < frameHeadBytes) return at + taken;
    this.#headHave = 0;
    return this.#begin(this.#head, 0, chunk, at + taken);
  }

  #begin(head: Buffer, headAt: number, chunk: Buffer, at: number): number {
    const length = (head[headAt]! << 16) | (head[headAt + 1]! << 8) | head[headAt + 2]!;
    if (length > usualFrameBytes) throw new Http2Fault(errorCode.frameSize, 'a frame is larger than allowed');
    this.#type = head[headAt + 3]!;
    this.#flags = head[headAt + 4]!;
    this.#stream = head.readUInt32BE(headAt + 5) & 0x7fffffff;
    if (this.#type === frameType.data) {
      this.#dataLeft = length;
      this.#padding = 0;
      this.#awaitsPadLength = (this.#flags & frameFlag.padded) !== 0;
      if (this.#awaitsPadLength && length === 0) throw new Http2Fault(errorCode.frameSize, 'padding without a length');
      this.#handler.onDataFrame(this.#stream, this.#flags, length);
      return at;
    }
    if (chunk.length - at >= length) {
      this.#handler.onFrame(this.#type, this.#flags, this.#stream, chunk, at, at + length);
      return at + length;
    }
    this.#gathered = Buffer.allocUnsafe(length);
    this.#gatheredHave = 0;
    return at;
  }

  #gather(chunk: Buffer, at: number): number {
    const whole = this.#gathered!;
    const taken = Math.min(whole.length - this.#gatheredHave, chunk.length - at);
    chunk.copy(whole, this.#gatheredHave, at, at + taken);
    this.#gatheredHave += taken;
    if (this.#gatheredHave === whole.length) {
      this.#gathered = null;
      this.#handler.onFrame(this.#type, this.#flags, this.#stream, whole, 0, whole.length);
    }
    return at + taken;
  }

  #readData(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#awaitsPadLength) {
      if (at === chunk.length) return at;
      this.#awaitsPadLength = false;
      this.#padding = chunk[at++]!;
      this.#dataLeft--;
      if (this.#padding > this.#dataLeft) throw new Http2Fault(errorCode.protocol, 'padding longer than its frame');
    }
    const content = Math.min(this.#dataLeft - this.#padding, chunk.length - at);
    if (content > 0) {
      this.#dataLeft -= content;
      const slice = content === chunk.length ? chunk : chunk.subarray(at, at + content);
      at += content;
      this.#handler.onContent(slice);
    }
    if (this.#dataLeft <= this.#padding) {
      const skipped = Math.min(this.#dataLeft, chunk.length - at);
      this.#dataLeft -= skipped;
      this.#padding = this.#dataLeft;
      at += skipped;
    }
    if (this.#dataLeft === 0) {
      this.#dataLeft = -1;
      if (!this.#handler.isOver) this.#handler.onDataEnd(this.#stream, this.#flags);
    }
    return at;
  }
}
