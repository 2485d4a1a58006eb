// A conversation at the mTLS door that is not HTTP, so that a refusal in it is written down like any other: a handshake
// that failed, which is only closed, or a renewal, which is told why in one line of JSON. Nothing is ever forwarded in it.
import type { Socket } from 'node:net';
import type { BodyForm, BodyWriter, Exchange, Framing } from '../flow/exchange.ts';
import type { HeaderList } from '../flow/header-list.ts';

export class IdentityExchange implements Exchange {
  readonly form: BodyForm = 'wire';
  readonly requestFraming: Framing = { kind: 'none' };
  readonly bytesIn: number;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  readonly #socket: Socket;
  readonly #inWords: boolean;

  /** `inWords`: the other side reads lines. */
  constructor(socket: Socket, inWords: boolean, bytesIn: number) {
    this.#socket = socket;
    this.#inWords = inWords;
    this.bytesIn = bytesIn;
  }

  /** The body of a refusal is one line of JSON already. */
  answer(_status: number, _headers: HeaderList, body: Buffer): void {
    this.answered = true;
    if (!this.#inWords) {
      this.#socket.destroy();
      return;
    }
    this.bytesOut = body.length;
    this.#socket.end(body);
  }

  abort(): void {
    this.#socket.destroy();
  }

  asPayload(): Exchange {
    throw nothingHere();
  }

  sendBody(): void {
    throw nothingHere();
  }

  inform(): void {}

  respond(): BodyWriter {
    throw nothingHere();
  }

  goRaw(): BodyWriter {
    throw nothingHere();
  }
}

function nothingHere(): Error {
  return new Error('there is no request here that could be served');
}
