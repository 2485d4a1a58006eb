// A connection that is ended for what it did, so that this is written down like any other refusal. Nobody is told anything
// in it but by how it closes; nothing is ever forwarded.
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
