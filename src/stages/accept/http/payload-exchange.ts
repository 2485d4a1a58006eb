// An HTTP/1.1 exchange in payload form: chunk framing is taken off the request and put on the answer, so that a stage
// can read or change a body without knowing how it travels. Never lets two lengths stand in one answer.
import type { BodyForm, BodyWriter, Framing, ResponseHead } from '../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../path/exchange/exchange-view.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { BodyReader } from '../../../protocols/http1/body-reader.ts';
import { encodeChunk, lastChunk } from '../../../protocols/http1/write-head.ts';

export class PayloadExchange extends ExchangeView {
  override get form(): BodyForm {
    return 'payload';
  }

  override sendBody(to: BodyWriter): void {
    this.inner.sendBody(new Unwrapper(new BodyReader(this.requestFraming), to));
  }

  override respond(head: ResponseHead): BodyWriter {
    const framing = framingOf(head);
    const headers = head.headers.without((key) => key === 'content-length');
    if (framing.kind === 'length') headers.append('Content-Length', String(framing.bytes));
    const writer = this.inner.respond({ ...head, headers, framing });
    return framing.kind === 'chunked' ? new Wrapper(writer) : writer;
  }
}

/** An answer that came over HTTP/2 has no framing of its own; where it tells its length, that is kept. */
function framingOf({ headers, framing, status }: ResponseHead): Framing {
  if (framing.kind === 'length' || framing.kind === 'until-close') return framing;
  const told = headers.get('content-length');
  const bytes = told !== undefined && /^\d{1,15}$/.test(told) ? Number(told) : null;
  if (framing.kind === 'chunked') return bytes === null ? framing : { kind: 'length', bytes };
  // Without any length HTTP/1.1 would read until the connection closes.
  return status === 204 || status === 304 || status < 200 ? framing : { kind: 'length', bytes: bytes ?? 0 };
}

class Unwrapper implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #reader: BodyReader;
  readonly #to: BodyWriter;

  constructor(reader: BodyReader, to: BodyWriter) {
    this.#reader = reader;
    this.#to = to;
    to.onDrain = () => this.onDrain?.();
  }

  write(chunk: Buffer): boolean {
    let more = true;
    this.#reader.feedJoined(chunk, 0, (slice) => {
      more = this.#to.write(slice) && more;
    });
    return more;
  }

  flush(): void {
    this.#to.flush();
  }

  end(): void {
    const { trailers } = this.#reader;
    this.#to.end(trailers === null ? null : new HeaderList(trailers.names, trailers.keys, trailers.values));
  }

  fail(reason: Error): void {
    this.#to.fail(reason);
  }
}

class Wrapper implements BodyWriter {
  readonly #inner: BodyWriter;

  constructor(inner: BodyWriter) {
    this.#inner = inner;
  }

  get onDrain(): (() => void) | null {
    return this.#inner.onDrain;
  }

  set onDrain(act: (() => void) | null) {
    this.#inner.onDrain = act;
  }

  write(chunk: Buffer): boolean {
    let more = true;
    for (const part of encodeChunk(chunk)) more = this.#inner.write(part) && more;
    return more;
  }

  flush(): void {
    this.#inner.flush();
  }

  end(trailers: HeaderList | null): void {
    this.#inner.write(lastChunk(trailers));
    this.#inner.end(null);
  }

  fail(reason: Error): void {
    this.#inner.fail(reason);
  }
}
