// A conversation at the mTLS door that is not HTTP, so that a refusal in it is written down like any other: a handshake
// that failed, which is only closed, or a renewal, which is told why in one line of JSON. Nothing is ever forwarded in it.
import type { Socket } from 'node:net';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { UnservedExchange } from '../doors/unserved-exchange.ts';

export class IdentityExchange extends UnservedExchange {
  override readonly bytesIn: number;
  readonly #socket: Socket;
  readonly #inWords: boolean;

  /** `inWords`: the other side reads lines. */
  constructor(socket: Socket, inWords: boolean, bytesIn: number) {
    super();
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
}
