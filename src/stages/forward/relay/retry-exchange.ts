// The near end of a request that may be sent twice. To the first try it looks like any exchange, but an answer of 401 is
// held here and the body is kept; the second try gets the client itself. The client sees one answer and is asked for its
// body once.
import type { BodyWriter, Exchange, ResponseHead } from '../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../path/exchange/exchange-view.ts';
import { RetryAnswer } from './retry-answer.ts';
import { type KeepingShare, RetryBody } from './retry-body.ts';

const unauthorized = 401;

export class RetryExchange extends ExchangeView {
  /** The client has gone away. */
  isGone = false;
  /** The 401 of the first try; null: none was held. */
  held: RetryAnswer | null = null;
  /** Called when an answer is held, and when the client goes away. */
  onEvent: (() => void) | null = null;
  /** Called for a 401 that is passed on because the body is too long to be repeated. */
  onUnrepeatable: (() => void) | null = null;
  readonly #body: RetryBody;
  #tries: 'first' | 'last' = 'first';
  #whenAbandoned: (() => void) | null = null;

  constructor(inner: Exchange, room: KeepingShare) {
    super(inner);
    this.#body = new RetryBody(room);
    this.inner.onAbandoned = () => {
      this.isGone = true;
      this.#whenAbandoned?.();
      this.onEvent?.();
    };
  }

  override get onAbandoned(): (() => void) | null {
    return this.#whenAbandoned;
  }

  override set onAbandoned(act: (() => void) | null) {
    this.#whenAbandoned = act;
    // Who asks late hears it at once.
    if (this.isGone) act?.();
  }

  override sendBody(to: BodyWriter): void {
    if (this.#tries === 'last') {
      this.#body.sendAgainTo(to);
      return;
    }
    this.#body.sendTo(to);
    this.inner.sendBody(this.#body);
  }

  override respond(head: ResponseHead): BodyWriter {
    if (this.#tries === 'first' && head.status === unauthorized) {
      if (this.#body.isRepeatable) return this.#hold(head);
      this.onUnrepeatable?.();
    }
    return this.#pass(head);
  }

  /** There is no second try: the answer that was held goes to the client. */
  passOn(): void {
    this.#tries = 'last';
    this.#body.goOn();
    try {
      this.held!.passOnTo((head) => this.#pass(head));
    } catch (error) {
      this.#endFirstTry();
      throw error;
    }
  }

  /** There is one: the answer that was held is dropped. */
  repeat(): void {
    this.#tries = 'last';
    this.held!.drop();
    this.#endFirstTry();
  }

  letGo(): void {
    this.#body.letGo();
  }

  #hold(head: ResponseHead): RetryAnswer {
    this.held = new RetryAnswer(head);
    this.#body.hold();
    this.onEvent?.();
    return this.held;
  }

  #pass(head: ResponseHead): BodyWriter {
    this.#body.letGo();
    return this.inner.respond(head);
  }

  /** What has not come of its answer is not waited for. To its relay that looks like a client that went away. */
  #endFirstTry(): void {
    const end = this.#whenAbandoned;
    this.#whenAbandoned = null;
    if (!this.held!.isWhole) end?.();
  }
}
