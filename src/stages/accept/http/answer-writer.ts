// Writes an answer to a client of HTTP/1.1, counts it, and tells the exchange when it is over or can never be.
import type { Socket } from 'node:net';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import { MessageWriter } from '../../../protocols/http1/message-writer.ts';

/** What the writer needs of its exchange. */
export interface AnswerHost {
  readonly socket: Socket;
  bytesOut: number;
  /** The socket holds as much as it should. */
  stalled(): void;
  /** `last`: nothing more can be served on this connection. */
  finish(last: boolean): void;
  abort(): void;
}

export class AnswerWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #host: AnswerHost;
  readonly #message: MessageWriter;
  readonly #last: boolean;

  constructor(host: AnswerHost, head: string, last: boolean) {
    this.#host = host;
    this.#message = new MessageWriter(host.socket, head);
    this.#last = last;
  }

  write(chunk: Buffer): boolean {
    this.#host.bytesOut += chunk.length;
    const more = this.#message.write(chunk);
    if (!more) this.#host.stalled();
    return more;
  }

  flush(): void {
    this.#message.flush();
  }

  end(): void {
    this.#message.flush();
    this.#host.finish(this.#last);
  }

  fail(): void {
    this.#host.abort();
  }
}
