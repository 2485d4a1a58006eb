// A connection that we close because of what the client did. It goes through the path so that the refusal is recorded like
// any other. The client gets no message, only the close, and nothing is ever forwarded.
import { UnservedExchange } from './unserved-exchange.ts';

export class ClosingExchange extends UnservedExchange {
  readonly #close: () => void;

  constructor(close: () => void) {
    super();
    this.#close = close;
  }

  answer(): void {
    this.answered = true;
    this.#close();
  }

  abort(): void {
    this.#close();
  }
}
