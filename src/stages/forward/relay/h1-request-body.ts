// A request body on its way to an HTTP/1.1 upstream: as it came, or, from an HTTP/2 client that did not say its length,
// in chunks of our own. The head leaves with its first bytes. Never decides when a request is over: its relay does.
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { Refusal } from '../../../path/refusal.ts';
import { MessageWriter, type Sink } from '../../../protocols/http1/message-writer.ts';
import { encodeChunk, lastChunk } from '../../../protocols/http1/write-head.ts';

export class H1RequestBody {
  readonly #sink: Sink;
  readonly #message: MessageWriter;
  readonly #rechunk: boolean;

  constructor(sink: Sink, head: string, rechunk: boolean) {
    this.#sink = sink;
    this.#message = new MessageWriter(sink, head);
    this.#rechunk = rechunk;
  }

  write(chunk: Buffer): boolean {
    if (!this.#rechunk) return this.#message.write(chunk);
    let more = true;
    for (const part of encodeChunk(chunk)) more = this.#message.write(part);
    return more;
  }

  flush(): void {
    this.#message.flush();
  }

  /** Throws a refusal for trailers that may not be sent. */
  end(trailers: HeaderList | null): void {
    this.flush();
    if (!this.#rechunk) return;
    let last: Buffer;
    try {
      last = lastChunk(trailers);
    } catch (cause) {
      throw new Refusal('malformed.framing', 'the request has a trailer field that may not come after the body', {
        cause,
      });
    }
    this.#sink.write(last);
  }
}
