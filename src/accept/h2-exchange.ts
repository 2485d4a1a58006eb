// One HTTP/2 request stream and its answer. node:http2 does the framing; bodies pass as payload, trailers as fields,
// so that gRPC arrives whole. Never answers twice and never lets a half answer look complete.
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../flow/exchange.ts';
import { HeaderList } from '../flow/header-list.ts';
import { mayTrail } from '../http1/trailer-fields.ts';
import { fieldsOfHttp2, toHttp2 } from '../kit/http2-fields.ts';
import { http2 } from '../kit/http2-module.ts';
import { fieldTooLate } from './request-faults.ts';

export class H2Exchange implements Exchange {
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  readonly #stream: ServerHttp2Stream;
  readonly #expectsContinue: boolean;
  readonly #carriesCredential: (key: string) => boolean;
  #requestTrailers: HeaderList | null = null;
  #writer: StreamWriter | null = null;
  #complete = false;

  constructor(
    stream: ServerHttp2Stream,
    requestFraming: Framing,
    expectsContinue: boolean,
    carriesCredential: (key: string) => boolean,
  ) {
    this.#stream = stream;
    this.#carriesCredential = carriesCredential;
    this.#expectsContinue = expectsContinue;
    this.requestFraming = requestFraming;
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      this.#requestTrailers = listOf(trailers);
    });
    stream.on('drain', () => this.#writer?.onDrain?.());
    stream.on('error', () => {});
    stream.on('close', () => {
      if (!this.#complete) this.onAbandoned?.();
      this.onFinished?.();
    });
  }

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    const stream = this.#stream;
    if (this.#expectsContinue && !isGone(stream)) stream.additionalHeaders({ ':status': 100 });
    to.onDrain = () => stream.resume();
    stream.on('data', (chunk: Buffer) => {
      this.bytesIn += chunk.length;
      if (!to.write(chunk)) stream.pause();
    });
    stream.on('end', () => {
      if (stream.aborted) return;
      const late = this.#requestTrailers?.keys.find((key) => !mayTrail(key) || this.#carriesCredential(key));
      // Guards: a credential field behind the body would get past everything that judged the head.
      if (late === undefined) to.end(this.#requestTrailers);
      else to.fail(fieldTooLate(late));
    });
  }

  inform(status: number, headers: HeaderList): void {
    if (!isGone(this.#stream)) this.#stream.additionalHeaders({ ':status': status, ...toHttp2(headers) });
  }

  respond(head: ResponseHead): BodyWriter {
    const empty = head.framing.kind === 'none';
    this.#writer = new StreamWriter(this.#stream, () => {
      this.#complete = true;
    });
    if (!isGone(this.#stream) && !this.#stream.headersSent) {
      // Throws at fields that HTTP/2 cannot carry: then nothing was answered yet.
      this.#stream.respond(
        { ':status': head.status, ...toHttp2(head.headers) },
        { endStream: empty, waitForTrailers: !empty },
      );
      this.#complete = empty;
    }
    this.answered = true;
    return this.#writer.counting((bytes) => {
      this.bytesOut += bytes;
    });
  }

  goRaw(_to: BodyWriter): BodyWriter {
    throw new Error('an HTTP/2 stream cannot be upgraded');
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.answered) return;
    if (isGone(this.#stream)) {
      this.#stream.destroy();
      return;
    }
    this.answered = true;
    this.#complete = true;
    this.bytesOut += body.length;
    this.#stream.respond({ ':status': status, ...toHttp2(headers), 'content-length': body.length });
    this.#stream.end(body);
    // RFC 9113 8.1: the answer is whole; tell the client to stop sending a body that nobody will read.
    if (this.requestFraming.kind !== 'none')
      this.#stream.once('finish', () => this.#stream.close(http2().constants.NGHTTP2_NO_ERROR));
  }

  abort(): void {
    this.#stream.close(http2().constants.NGHTTP2_INTERNAL_ERROR);
  }
}

class StreamWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #stream: ServerHttp2Stream;
  readonly #onComplete: () => void;
  #count: (bytes: number) => void = () => {};
  #trailers: HeaderList | null = null;

  constructor(stream: ServerHttp2Stream, onComplete: () => void) {
    this.#stream = stream;
    this.#onComplete = onComplete;
    stream.once('wantTrailers', () => {
      if (isGone(stream)) return;
      try {
        stream.sendTrailers(this.#trailers === null ? {} : toHttp2(this.#trailers));
      } catch {
        // Trailers that HTTP/2 cannot carry (a repeated ETag): the answer is not whole, and must not look so.
        stream.close(http2().constants.NGHTTP2_INTERNAL_ERROR);
      }
    });
  }

  counting(count: (bytes: number) => void): this {
    this.#count = count;
    return this;
  }

  write(chunk: Buffer): boolean {
    if (this.#stream.destroyed) return true;
    this.#count(chunk.length);
    return this.#stream.write(chunk);
  }

  flush(): void {}

  end(trailers: HeaderList | null): void {
    this.#trailers = trailers;
    this.#onComplete();
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.end();
  }

  fail(): void {
    this.#stream.close(http2().constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** Closed by the other side but not destroyed yet (unread data is left): nothing may be sent on it any more. */
function isGone(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed;
}

export function headerListFromRaw(raw: readonly string[]): HeaderList {
  const list = new HeaderList();
  for (let i = 0; i + 1 < raw.length; i += 2) if (!raw[i]!.startsWith(':')) list.append(raw[i]!, raw[i + 1]!);
  return list;
}

function listOf(headers: IncomingHttpHeaders): HeaderList {
  const { names, keys, values } = fieldsOfHttp2(headers);
  return new HeaderList(names, keys, values);
}
