// Searches the messages that come back over a WebSocket (RFC 6455 section 5). A message may come in several frames, and
// the credential across two of them: content is searched message by message, and frames keep their lengths and order.
import type { AnswerScrub, BodyScrub } from '../flow/answer-scrub.ts';
import type { BodyWriter } from '../flow/exchange.ts';

const control = 0x08;
const finalFrame = 0x80;
/** Nothing was offered that could use them: what is in such a frame cannot be read. */
const reservedBits = 0x70;
const maskBit = 0x80;

export class UnreadableFrame extends Error {
  override readonly name = 'UnreadableFrame';
}

export class FrameScrub {
  readonly #scrub: AnswerScrub;
  /** Of the message that is under way. */
  #message: BodyScrub | null = null;
  #head: Buffer = Buffer.alloc(0);
  #first = 0;
  /** Content of the frame that has not come yet. */
  #missing = 0;
  #control: Buffer[] | null = null;
  /** In order: bytes that go when all before them went, and how many bytes of searched content stand between them. */
  readonly #queue: (Buffer | number)[] = [];

  constructor(scrub: AnswerScrub) {
    this.#scrub = scrub;
  }

  /** What may be passed on now. Throws UnreadableFrame. */
  feed(chunk: Buffer): Buffer[] {
    const out: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing > 0) at = this.#takeContent(chunk, at, out);
      else at = this.#takeHead(chunk, at, out);
    }
    return out;
  }

  #takeHead(chunk: Buffer, at: number, out: Buffer[]): number {
    const head = Buffer.concat([this.#head, chunk.subarray(at, at + 1)]);
    const size = headSize(head);
    if (head.length < size) {
      this.#head = head;
      return at + 1;
    }
    this.#head = Buffer.alloc(0);
    this.#first = head[0]!;
    this.#missing = contentSize(head);
    this.#queue.push(head);
    if ((this.#first & control) !== 0) this.#control = [];
    else this.#message ??= this.#scrub.openBody();
    if (this.#missing === 0) this.#endFrame(out);
    return at + 1;
  }

  #takeContent(chunk: Buffer, at: number, out: Buffer[]): number {
    const content = chunk.subarray(at, at + this.#missing);
    this.#missing -= content.length;
    if (this.#control !== null) this.#control.push(content);
    else {
      this.#queue.push(content.length);
      this.#give(this.#message!.feed(content), out);
    }
    if (this.#missing === 0) this.#endFrame(out);
    return at + content.length;
  }

  #endFrame(out: Buffer[]): void {
    if (this.#control !== null) {
      // Short by rule, and never in pieces: searched as a whole.
      const body = this.#scrub.openBody();
      this.#queue.push(body.feed(Buffer.concat(this.#control)), body.end());
      this.#control = null;
    }
    let rest: Buffer | null = null;
    if ((this.#first & (finalFrame | control)) === finalFrame) {
      rest = this.#message!.end();
      this.#message = null;
    }
    this.#give(rest ?? Buffer.alloc(0), out);
  }

  /** Searched content goes where it stood, and with it what waited behind it. */
  #give(clean: Buffer, out: Buffer[]): void {
    let rest = clean;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (typeof next === 'number') {
        if (rest.length === 0) return;
        const part = rest.subarray(0, next);
        rest = rest.subarray(part.length);
        out.push(part);
        if (part.length < next) {
          this.#queue[0] = next - part.length;
          return;
        }
      } else if (next.length > 0) out.push(next);
      this.#queue.shift();
    }
  }
}

/** How long the head of this frame is, as far as it can be told from its beginning. */
function headSize(head: Buffer): number {
  if ((head[0]! & reservedBits) !== 0) throw new UnreadableFrame('a frame of a WebSocket uses an extension');
  if (head.length < 2) return 2;
  // RFC 6455 section 5.1: a server must not mask.
  if ((head[1]! & maskBit) !== 0) throw new UnreadableFrame('a server sent a masked frame');
  if ((head[0]! & control) !== 0 && head[1]! > 125) throw new UnreadableFrame('a control frame that is too long');
  return head[1]! < 126 ? 2 : head[1] === 126 ? 4 : 10;
}

function contentSize(head: Buffer): number {
  if (head[1]! < 126) return head[1]!;
  if (head[1] === 126) return head.readUInt16BE(2);
  const size = head.readBigUInt64BE(2);
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw new UnreadableFrame('a frame longer than any');
  return Number(size);
}

/** Passes on what was searched; ends the connection at what cannot be read. */
export function scrubFramesTo(to: BodyWriter, scrub: AnswerScrub): BodyWriter {
  const frames = new FrameScrub(scrub);
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
        if (!(error instanceof UnreadableFrame)) throw error;
        failed = true;
        to.fail(error);
      }
      return more;
    },
    flush: () => to.flush(),
    end: (trailers) => to.end(trailers),
    fail: (reason) => to.fail(reason),
  };
}
