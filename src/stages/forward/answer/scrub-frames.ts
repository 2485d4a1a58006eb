// The messages that come back over a WebSocket, searched on their way to the client. A message may come in several frames,
// and the credential across two of them: content is searched message by message, and frames keep their lengths and order.
// Compressed messages must have been unfolded before (deflate-frames.ts), where there is anything to search for.

import { Fifo } from '../../../kit/fifo.ts';
import { type FrameFlood, TooManyFrames } from '../../../kit/floods/websocket-flood.ts';
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { Refusal } from '../../../path/refusal.ts';
import {
  closeCodes,
  closeFrame,
  closing,
  type FrameHead,
  FrameReader,
  UnreadableFrame,
} from '../../../protocols/websocket/websocket-frames.ts';

const none = Buffer.alloc(0);

export class FrameScrub {
  readonly #scrub: AnswerScrub;
  readonly #reader: FrameReader;
  /** Of the message that is under way. */
  #message: BodyScrub | null = null;
  #control: Buffer[] = [];
  /** In order: bytes that go when all before them went, and how many bytes of searched content stand between them. */
  readonly #queue = new Fifo<Buffer | number>();
  #out: Buffer[] = [];
  /** Why nothing more is read. */
  fault: UnreadableFrame | TooManyFrames | null = null;
  /** The upstream has said its last word; after it no frame may come. */
  isClosed = false;

  /** `flood`: null where what comes here was counted before. `mayDeflate`: nothing is searched, and messages may be compressed. */
  constructor(scrub: AnswerScrub, flood: FrameFlood | null = null, mayDeflate = false) {
    this.#scrub = scrub;
    const sink = {
      onHead: (head: FrameHead) => this.#beginFrame(head),
      onContent: (content: Buffer, _raw: Buffer, head: FrameHead) => this.#takeContent(content, head),
      onEnd: (head: FrameHead) => this.#endFrame(head),
    };
    this.#reader = new FrameReader('server', mayDeflate, sink, flood);
  }

  /**
   * What may be passed on now, in one piece: head and content of a message apart would be two records of TLS. Where there is a
   * `fault` after it, that is all there will be.
   */
  feed(chunk: Buffer): Buffer {
    if (this.fault !== null) return none;
    try {
      this.#reader.feed(chunk);
    } catch (error) {
      if (!(error instanceof UnreadableFrame || error instanceof TooManyFrames)) throw error;
      this.fault = error;
    }
    return this.#taken();
  }

  /** Nothing more is read: what still waited for what comes next. Null: a frame is half-way, and no other may follow. */
  cut(): Buffer | null {
    if (this.fault === null && !this.#reader.isBetweenFrames) return null;
    this.#give(this.#message?.end() ?? none);
    this.#message = null;
    return this.#taken();
  }

  #taken(): Buffer {
    const out = this.#out;
    this.#out = [];
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  #beginFrame(head: FrameHead): void {
    if (head.opcode === closing) this.isClosed = true;
    this.#queue.push(head.bytes);
    if (!head.isControl) this.#message ??= this.#scrub.openBody();
  }

  #takeContent(content: Buffer, head: FrameHead): void {
    if (head.isControl) {
      this.#control.push(content);
      return;
    }
    this.#queue.push(content.length);
    this.#give(this.#message!.feed(content));
  }

  #endFrame(head: FrameHead): void {
    if (head.isControl) {
      // Short by rule, and never in pieces: searched as a whole.
      const body = this.#scrub.openBody();
      this.#queue.push(body.feed(Buffer.concat(this.#control)), body.end());
      this.#control = [];
    }
    let rest: Buffer = none;
    if (head.isFinal && !head.isControl) {
      rest = this.#message!.end();
      this.#message = null;
    }
    this.#give(rest);
  }

  /** Searched content goes where it stood, and with it what waited behind it. */
  #give(clean: Buffer): void {
    let rest = clean;
    for (let next = this.#queue.first; next !== undefined; next = this.#queue.first) {
      if (typeof next === 'number') {
        if (rest.length === 0) return;
        const part = rest.subarray(0, next);
        rest = rest.subarray(part.length);
        this.#out.push(part);
        if (part.length < next) {
          this.#queue.replaceFirst(next - part.length);
          return;
        }
      } else if (next.length > 0) this.#out.push(next);
      this.#queue.shift();
    }
  }
}

/**
 * Passes on what was searched. At what cannot be read it ends the connection: `onFault` makes the refusal of it, and has the
 * other side ended too.
 */
export class FramesToClient implements BodyWriter {
  readonly #to: BodyWriter;
  readonly #frames: FrameScrub;
  readonly #onFault: (fault: Error) => Refusal;
  #isOver = false;

  constructor(to: BodyWriter, frames: FrameScrub, onFault: (fault: Error) => Refusal) {
    this.#to = to;
    this.#frames = frames;
    this.#onFault = onFault;
  }

  get onDrain(): (() => void) | null {
    return this.#to.onDrain;
  }

  set onDrain(act: (() => void) | null) {
    this.#to.onDrain = act;
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    const clean = this.#frames.feed(chunk);
    const more = clean.length === 0 || this.#to.write(clean);
    if (this.#frames.fault !== null) this.fail(this.#frames.fault);
    return more;
  }

  flush(): void {
    this.#to.flush();
  }

  end(trailers: HeaderList | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#to.end(trailers);
  }

  /** RFC 6455 section 7.1.7: says why, where a frame may stand, and ends in good order. */
  fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isFault = reason instanceof UnreadableFrame || reason instanceof TooManyFrames;
    const refusal = isFault ? this.#onFault(reason) : reason;
    const last = this.#frames.cut();
    if (last === null) {
      this.#to.fail(refusal);
      return;
    }
    if (last.length > 0) this.#to.write(last);
    if (!this.#frames.isClosed) this.#to.write(closeFrame(closeCodeFor(refusal), wordsOf(refusal)));
    this.#to.end(null);
  }
}

function closeCodeFor(reason: Error): number {
  if (reason.cause instanceof UnreadableFrame) return reason.cause.closeCode;
  return reason instanceof Refusal && !reason.isFailure ? closeCodes.refused : closeCodes.failed;
}

/** What is no refusal may say what the sandbox is not to know. */
function wordsOf(reason: Error): string {
  return reason instanceof Refusal ? reason.message : '';
}
