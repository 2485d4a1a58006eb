// Searches the messages that come back over a WebSocket. A message may come in several frames, and the credential across
// two of them: content is searched message by message, and frames keep their lengths and order. Compressed messages
// must have been unfolded before (deflate-frames.ts): here they are refused.

import { Fifo } from '../../../kit/fifo.ts';
import { type FrameFlood, TooManyFrames } from '../../../kit/floods/websocket-flood.ts';
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import { type FrameHead, FrameReader, UnreadableFrame } from '../../../protocols/websocket/websocket-frames.ts';

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

  /** `flood`: null where what comes here was counted before. */
  constructor(scrub: AnswerScrub, flood: FrameFlood | null = null) {
    this.#scrub = scrub;
    const sink = {
      onHead: (head: FrameHead) => this.#beginFrame(head),
      onContent: (content: Buffer, _raw: Buffer, head: FrameHead) => this.#takeContent(content, head),
      onEnd: (head: FrameHead) => this.#endFrame(head),
    };
    this.#reader = new FrameReader('server', false, sink, flood);
  }

  /** What may be passed on now. Throws UnreadableFrame. */
  feed(chunk: Buffer): Buffer[] {
    this.#out = [];
    this.#reader.feed(chunk);
    return this.#out;
  }

  #beginFrame(head: FrameHead): void {
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

/** Passes on what was searched; ends the connection at what cannot be read, and says so first. */
export function scrubFramesTo(
  to: BodyWriter,
  frames: FrameScrub,
  onUnreadable: (error: UnreadableFrame | TooManyFrames) => void,
): BodyWriter {
  let failed = false;
  return {
    get onDrain() {
      return to.onDrain;
    },
    set onDrain(act) {
      to.onDrain = act;
    },
    write(chunk) {
      if (failed) return true;
      let more = true;
      try {
        for (const part of frames.feed(chunk)) more = to.write(part);
      } catch (error) {
        if (!(error instanceof UnreadableFrame || error instanceof TooManyFrames)) throw error;
        failed = true;
        onUnreadable(error);
        to.fail(error);
      }
      return more;
    },
    flush: () => to.flush(),
    end: (trailers) => to.end(trailers),
    fail: (reason) => to.fail(reason),
  };
}
