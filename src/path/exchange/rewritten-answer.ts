// An exchange whose answer passes through a rewriter on its way to the client. The rewriter sees the head first and may
// leave the answer alone. What it cannot read never reaches the client as if it were whole.
import type { BodyWriter, Exchange, ResponseHead } from './exchange.ts';
import { ExchangeView } from './exchange-view.ts';
import type { HeaderList } from './header-list.ts';

export interface AnswerRewriter {
  /** What to pass on for these bytes, now. Throws for an answer that must not be passed on. */
  feed(chunk: Buffer): readonly Buffer[];
  /** What is left to pass on at the end. */
  end(): readonly Buffer[];
}

export class RewrittenAnswer extends ExchangeView {
  readonly #choose: (head: ResponseHead) => AnswerRewriter | null;

  /** `inner` in payload form. `choose` returns null for an answer that passes as it is, and throws for one that must not. */
  constructor(inner: Exchange, choose: (head: ResponseHead) => AnswerRewriter | null) {
    super(inner);
    this.#choose = choose;
  }

  override respond(head: ResponseHead): BodyWriter {
    const rewriter = this.#choose(head);
    if (rewriter === null) return this.inner.respond(head);
    const headers = head.headers.without((key) => key === 'content-length' || key === 'etag' || key === 'content-md5');
    return new RewritingWriter(
      rewriter,
      () => this.inner.respond({ ...head, headers, framing: { kind: 'chunked' } }),
      this.inner,
    );
  }
}

class RewritingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #rewriter: AnswerRewriter;
  readonly #open: () => BodyWriter;
  readonly #exchange: Exchange;
  #to: BodyWriter | null = null;

  constructor(rewriter: AnswerRewriter, open: () => BodyWriter, exchange: Exchange) {
    this.#rewriter = rewriter;
    this.#open = open;
    this.#exchange = exchange;
  }

  write(chunk: Buffer): boolean {
    return this.#pass(this.#rewriter.feed(chunk));
  }

  flush(): void {
    this.#to?.flush();
  }

  end(trailers: HeaderList | null): void {
    this.#pass(this.#rewriter.end());
    this.#writer().end(trailers);
  }

  fail(reason: Error): void {
    // Before its head has gone out the answer can still be one in words.
    if (this.#to === null && !this.#exchange.answered) return;
    this.#writer().fail(reason);
  }

  /** The head waits for the first bytes that may be passed on: until then the answer can still be a refusal. */
  #pass(chunks: readonly Buffer[]): boolean {
    let more = true;
    for (const chunk of chunks) if (chunk.length > 0) more = this.#writer().write(chunk) && more;
    return more;
  }

  #writer(): BodyWriter {
    if (this.#to === null) {
      this.#to = this.#open();
      this.#to.onDrain = () => this.onDrain?.();
    }
    return this.#to;
  }
}
