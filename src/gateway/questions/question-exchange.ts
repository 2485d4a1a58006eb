// The near end of a question that the gateway asks by itself: a body from memory goes out, the answer is handed to a
// consumer piece by piece, at the consumer's pace. Ends in exactly one way, and never holds a whole answer.
import { ClientGone } from '../../path/exchange/client-gone.ts';
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../../path/exchange/exchange.ts';
import type { HeaderList } from '../../path/exchange/header-list.ts';

export interface AnswerConsumer {
  /** The next piece is given when this one has been taken. */
  take(chunk: Buffer): Promise<void> | void;
  /** The answer is whole. What it throws is the outcome. */
  end(): void;
}

export class QuestionExchange implements Exchange, BodyWriter {
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  /** Settles once: the whole answer was taken, or why not. */
  readonly outcome: Promise<void>;
  readonly #body: Buffer | null;
  readonly #accept: (head: ResponseHead) => AnswerConsumer;
  readonly #queue: Buffer[] = [];
  #consumer: AnswerConsumer | null = null;
  #settle: (error: Error | null) => void = () => {};
  #failure: Error | null = null;
  #isTaking = false;
  #isWhole = false;

  /** `accept` looks at the head of the answer and says who takes its body, or throws. */
  constructor(body: Buffer | null, accept: (head: ResponseHead) => AnswerConsumer) {
    this.#body = body;
    this.#accept = accept;
    this.requestFraming = body === null ? { kind: 'none' } : { kind: 'length', bytes: body.length };
    this.outcome = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === null ? resolve() : reject(error));
    });
    // Whoever asks may have stopped waiting.
    this.outcome.catch(() => {});
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** All of the answer has come; it may not have been taken yet. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    if (this.#body !== null) {
      this.bytesIn += this.#body.length;
      // A few kilobytes that are in memory anyway: nothing is gained by waiting for room.
      to.write(this.#body);
    }
    to.end(null);
  }

  inform(_status: number, _headers: HeaderList): void {}

  respond(head: ResponseHead): BodyWriter {
    if (this.#failure !== null) throw this.#failure;
    this.answered = true;
    try {
      this.#consumer = this.#accept(head);
    } catch (error) {
      this.fail(asError(error));
    }
    return this;
  }

  goRaw(_to: BodyWriter): BodyWriter {
    throw new Error('a question of the gateway is never upgraded');
  }

  answer(_status: number, _headers: HeaderList, _body: Buffer): void {
    this.fail(new Error('a question of the gateway was answered by the gateway'));
  }

  abort(): void {
    this.fail(new ClientGone());
  }

  // The answer, from the upstream.

  write(chunk: Buffer): boolean {
    if (this.#failure !== null) return true;
    this.bytesOut += chunk.length;
    this.#queue.push(chunk);
    if (!this.#isTaking) void this.#takeQueued();
    return !this.#isTaking;
  }

  flush(): void {}

  end(_trailers: HeaderList | null): void {
    this.#isWhole = true;
    this.#finishIfTaken();
  }

  /** The first reason stands. The far side is told to stop, if it is still at it. */
  fail(reason: Error): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#queue.length = 0;
    this.#settle(reason);
    this.onAbandoned?.();
    this.onFinished?.();
  }

  /** Stays synchronous while the consumer does, so that nothing is paused for it. */
  async #takeQueued(): Promise<void> {
    this.#isTaking = true;
    let hasWaited = false;
    try {
      for (let chunk = this.#queue.shift(); chunk !== undefined; chunk = this.#queue.shift()) {
        const taken = this.#consumer?.take(chunk);
        if (taken === undefined) continue;
        hasWaited = true;
        await taken;
      }
    } catch (error) {
      this.fail(asError(error));
    }
    this.#isTaking = false;
    if (hasWaited && this.#failure === null && !this.#isWhole) this.onDrain?.();
    this.#finishIfTaken();
  }

  #finishIfTaken(): void {
    if (!this.#isWhole || this.#isTaking || this.#failure !== null) return;
    try {
      this.#consumer?.end();
    } catch (error) {
      this.fail(asError(error));
      return;
    }
    this.#settle(null);
    this.onFinished?.();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('an answer could not be taken', { cause: error });
}
