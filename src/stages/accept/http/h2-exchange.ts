// One HTTP/2 request stream and its answer. node:http2 does the framing; bodies pass as payload, trailers as fields,
// so that gRPC arrives whole. Never answers twice and never lets a half answer look complete.
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { piecesIn } from '../../../kit/floods/h2-flood.ts';
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { fieldsOfHttp2, toHttp2 } from '../../../protocols/http/http2-fields.ts';
import { http2 } from '../../../protocols/http/http2-module.ts';
import { mayTrail } from '../../../protocols/http1/trailer-fields.ts';
import { holdMuchUnsent, TurnCork } from '../../../protocols/turn-cork.ts';
import { bodyTooLarge, fieldTooLate, noBodyComes, nothingTaken } from '../request-faults.ts';
import type { ConnectionSettings } from './connection-settings.ts';

/** For a few words of ours. Refused streams have no place under any limit, and a sandbox can have a hundred thousand. */
const ownAnswerMs = 10_000;

/** The connection a stream is on. */
export interface StreamHost {
  readonly settings: ConnectionSettings;
  countUseful(bytes: number): void;
  cutStream(stream: ServerHttp2Stream): void;
  hangUp(): void;
  streamClosed(exchange: H2Exchange, byClient: boolean): void;
}

export class H2Exchange implements Exchange {
  /** Until when the client must have sent or taken something; the connection looks. */
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  /** Why we ended it; null: we did not. */
  cut: Refusal | null = null;
  onFinished: (() => void) | null = null;
  readonly #host: StreamHost;
  readonly #stream: ServerHttp2Stream;
  readonly #expectsContinue: boolean;
  #to: BodyWriter | null = null;
  #requestTrailers: HeaderList | null = null;
  #writer: StreamWriter | null = null;
  /** What waited for the client when it was last looked at. */
  #waitingBytes = 0;
  /** The request turned out to be one that must not go on; what still comes of it is dropped. */
  #broken = false;
  #complete = false;
  #closedHere = false;
  #onAbandoned: (() => void) | null = null;
  #abandoned = false;

  constructor(host: StreamHost, stream: ServerHttp2Stream, requestFraming: Framing, expectsContinue: boolean) {
    this.#host = host;
    this.#stream = stream;
    this.#expectsContinue = expectsContinue;
    this.requestFraming = requestFraming;
    holdMuchUnsent(stream);
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      this.#requestTrailers = listOf(trailers);
    });
    stream.on('drain', () => this.#writer?.onDrain?.());
    stream.on('error', () => {});
    stream.on('close', () => {
      this.#abandoned = !this.#complete;
      const wasReset = stream.aborted || stream.rstCode !== http2().constants.NGHTTP2_NO_ERROR;
      host.streamClosed(this, wasReset && !this.#closedHere);
      if (this.#abandoned) this.#onAbandoned?.();
      this.onFinished?.();
    });
  }

  get onAbandoned(): (() => void) | null {
    return this.#onAbandoned;
  }

  /** A listener that is added after the end is called at once: no work may start for a client that is gone or has its answer. */
  set onAbandoned(act: (() => void) | null) {
    this.#onAbandoned = act;
    if (this.#abandoned || this.#complete) act?.();
  }

  get isRequestOver(): boolean {
    return this.requestFraming.kind === 'none' || this.#stream.readableEnded;
  }

  get unreadBytes(): number {
    return this.#stream.readableLength;
  }

  get unreadPieces(): number {
    return this.#stream.readableLength === 0 ? 0 : piecesIn(this.#stream);
  }

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    const stream = this.#stream;
    if (this.#expectsContinue && !isGone(stream)) stream.additionalHeaders({ ':status': 100 });
    this.#to = to;
    this.#awaitClient();
    to.onDrain = () => {
      this.#awaitClient();
      stream.resume();
    };
    stream.on('data', (chunk: Buffer) => this.#take(chunk, to));
    stream.on('end', () => {
      if (stream.aborted || this.#broken) return;
      this.#to = null;
      const { carriesCredential } = this.#host.settings;
      const late = this.#requestTrailers?.keys.find((key) => !mayTrail(key) || carriesCredential(key));
      // Guards: a credential field behind the body would get past everything that judged the head.
      if (late === undefined) to.end(this.#requestTrailers);
      else to.fail(fieldTooLate(late));
    });
  }

  #take(chunk: Buffer, to: BodyWriter): void {
    this.bytesIn += chunk.length;
    this.#host.countUseful(chunk.length);
    if (this.#broken) return;
    const { requestBodyBytes } = this.#host.settings;
    if (requestBodyBytes > 0 && this.bytesIn > requestBodyBytes) {
      this.#breakOff(bodyTooLarge(requestBodyBytes));
      return;
    }
    this.#awaitClient();
    if (!to.write(chunk)) this.#stream.pause();
  }

  #awaitClient(mostMs = Number.POSITIVE_INFINITY): void {
    const { sweeper, idleTimeoutMs } = this.#host.settings;
    this.deadlineMs = sweeper.deadlineIn(Math.min(idleTimeoutMs, mostMs));
  }

  /** Nothing was sent or taken for as long as the client may leave us waiting, or that is no longer so. */
  expire(): void {
    const { idleTimeoutMs } = this.#host.settings;
    const stream = this.#stream;
    if (stream.writableNeedDrain || (stream.writableEnded && !stream.destroyed)) {
      if (stream.writableLength < this.#waitingBytes) this.#awaitIntake();
      else {
        this.cut = nothingTaken(idleTimeoutMs);
        this.#closedHere = true;
        this.#host.cutStream(stream);
      }
    } else if (this.#to !== null && !this.answered) {
      // Paused: it is the far side that takes nothing, and the forward stage keeps that time.
      if (stream.isPaused()) this.#awaitClient();
      else this.#breakOff(noBodyComes(idleTimeoutMs));
    } else this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  #awaitIntake(mostMs?: number): void {
    this.#waitingBytes = this.#stream.writableLength;
    this.#awaitClient(mostMs);
  }

  #breakOff(reason: Refusal): void {
    const to = this.#to!;
    this.#broken = true;
    this.#to = null;
    to.fail(reason);
  }

  inform(status: number, headers: HeaderList): void {
    if (!isGone(this.#stream)) this.#stream.additionalHeaders({ ':status': status, ...toHttp2(headers) });
  }

  respond(head: ResponseHead): BodyWriter {
    const empty = head.framing.kind === 'none';
    this.#writer = new StreamWriter(this.#stream, {
      onBytes: (bytes) => {
        this.bytesOut += bytes;
      },
      onStalled: () => this.#awaitIntake(),
      onEnd: () => {
        this.#complete = true;
        this.#awaitIntake();
      },
      onFailed: () => this.abort(),
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
    return this.#writer;
  }

  goRaw(_to: BodyWriter): BodyWriter {
    throw new Error('an HTTP/2 stream cannot be upgraded');
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.answered) return;
    // HTTP/2 has no such field: it is said by ending the session, and this stream with it.
    if (headers.has('connection')) this.#host.hangUp();
    if (isGone(this.#stream)) {
      this.#stream.destroy();
      return;
    }
    this.answered = true;
    this.#complete = true;
    this.bytesOut += body.length;
    this.#stream.respond({ ':status': status, ...toHttp2(headers), 'content-length': body.length });
    this.#stream.end(body);
    this.#awaitIntake(ownAnswerMs);
    // RFC 9113 8.1: the answer is whole; tell the client to stop sending a body that nobody will read.
    if (this.requestFraming.kind !== 'none')
      this.#stream.once('finish', () => this.#close(http2().constants.NGHTTP2_NO_ERROR));
  }

  abort(): void {
    this.#close(http2().constants.NGHTTP2_INTERNAL_ERROR);
  }

  #close(code: number): void {
    // One that the client has closed before stays the client's doing.
    if (!isGone(this.#stream)) this.#closedHere = true;
    this.#stream.close(code);
  }
}

interface StreamEvents {
  onBytes(bytes: number): void;
  /** The stream holds as much as it should. */
  onStalled(): void;
  onEnd(): void;
  /** It is not whole, and must not look so. */
  onFailed(): void;
}

class StreamWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #stream: ServerHttp2Stream;
  readonly #events: StreamEvents;
  readonly #turn: TurnCork;
  #trailers: HeaderList | null = null;

  constructor(stream: ServerHttp2Stream, events: StreamEvents) {
    this.#stream = stream;
    this.#events = events;
    this.#turn = new TurnCork(stream);
    stream.once('wantTrailers', () => {
      if (isGone(stream)) return;
      try {
        stream.sendTrailers(this.#trailers === null ? {} : toHttp2(this.#trailers));
      } catch {
        // Trailers that HTTP/2 cannot carry (a repeated ETag).
        events.onFailed();
      }
    });
  }

  write(chunk: Buffer): boolean {
    if (this.#stream.destroyed) return true;
    this.#events.onBytes(chunk.length);
    this.#turn.before(chunk);
    const more = this.#stream.write(chunk);
    if (!more) this.#events.onStalled();
    return more;
  }

  flush(): void {}

  end(trailers: HeaderList | null): void {
    this.#trailers = trailers;
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.end();
    this.#events.onEnd();
  }

  fail(): void {
    this.#events.onFailed();
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
