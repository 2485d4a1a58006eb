// One request over one HTTP/2 stream to the upstream, for HTTP/2 clients: nothing is downgraded, trailers and interim
// answers pass, so gRPC works. A stream that ends badly never looks complete to the client.

import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { noteRead } from '../../../kit/process/young-bytes.ts';
import type { Perishable } from '../../../kit/sweeper.ts';
import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Forwarded } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { fieldsOfHttp2, toHttp2 } from '../../../protocols/http/http2-fields.ts';
import { http2 } from '../../../protocols/http/http2-module.ts';
import { holdMuchUnsent, TurnCork } from '../../../protocols/turn-cork.ts';
import { endToEnd } from '../answer/end-to-end.ts';
import type { H2Upstream } from '../dial/h2-sessions.ts';
import {
  deadlineAfterPause,
  maxInterimAnswers,
  type RelaySettings,
  StaleConnection,
  type Wrapped,
} from './relay-settings.ts';
import { authorityOf, lastOutgoing, originOf } from './request-head.ts';
import { brokeOff, stoodStill, unsafeAnswer } from './upstream-faults.ts';

const endStreamFlag = 0x1;

export function relayH2(upstream: H2Upstream, flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    new H2Relay(upstream, flow, settings, resolve, reject).start();
  });
}

class H2Relay implements Perishable {
  deadlineMs: number;
  readonly #upstream: H2Upstream;
  readonly #flow: Wrapped;
  readonly #settings: RelaySettings;
  readonly #resolve: (flow: Forwarded) => void;
  readonly #reject: (error: Error) => void;
  #stream: ClientHttp2Stream | null = null;
  #writer: BodyWriter | null = null;
  #status = 0;
  #interim = 0;
  /** What the answer says it has, and what has not come of it; null: it does not say. */
  #missingBytes: number | null = null;
  #trailers: HeaderList | null = null;
  #settled = false;

  constructor(
    upstream: H2Upstream,
    flow: Wrapped,
    settings: RelaySettings,
    resolve: (flow: Forwarded) => void,
    reject: (error: Error) => void,
  ) {
    this.#upstream = upstream;
    this.#flow = flow;
    this.#settings = settings;
    this.#resolve = resolve;
    this.#reject = reject;
    this.deadlineMs = settings.sweeper.deadlineIn(settings.headersTimeoutMs);
  }

  start(): void {
    const { wrapped: exchange } = this.#flow;
    const bodyless = exchange.requestFraming.kind === 'none';
    let stream: ClientHttp2Stream;
    try {
      stream = this.#upstream.session.request(requestHeaders(this.#flow), {
        endStream: bodyless,
        waitForTrailers: !bodyless,
      });
    } catch (cause) {
      // The session ended after it was chosen.
      if (this.#upstream.session.closed || this.#upstream.session.destroyed) throw new StaleConnection();
      if (!(cause instanceof TypeError)) throw cause;
      // node:http2 takes no field twice that may stand once (User-Agent), and no field that HTTP/2 does not have.
      throw new Refusal('malformed.syntax', 'a field of the request cannot be sent over HTTP/2', { cause });
    }
    this.#stream = stream;
    this.#upstream.streamOpened(stream);
    this.#settings.sweeper.join(this);
    exchange.onAbandoned = () => this.#breakOff(new ClientGone());
    stream.on('headers', (headers: IncomingHttpHeaders) => this.#orBreakOff(() => this.#inform(headers)));
    stream.on('response', (headers: IncomingHttpHeaders, flags: number) =>
      this.#orBreakOff(() => this.#respond(headers, flags)),
    );
    stream.on('trailers', (headers: IncomingHttpHeaders) => {
      this.#upstream.countHead(headers);
      this.#trailers = fieldsOf(headers);
    });
    stream.on('data', (chunk: Buffer) => {
      noteRead(chunk.length);
      this.#touch();
      this.#upstream.countContent(chunk.length);
      if (this.#missingBytes !== null) this.#missingBytes -= chunk.length;
      this.#orBreakOff(() => {
        if (this.#writer !== null && !this.#settled && !this.#writer.write(chunk)) stream.pause();
      });
    });
    stream.on('end', () => {
      if (stream.rstCode === http2().constants.NGHTTP2_NO_ERROR && !stream.aborted) this.#complete();
    });
    stream.on('error', (error) => this.#failed(error));
    stream.on('close', () => this.#failed(null));
    if (!bodyless) exchange.sendBody(this.#requestWriter(stream));
  }

  #requestWriter(stream: ClientHttp2Stream): BodyWriter {
    let trailers: HeaderList | null = null;
    const turn = new TurnCork(stream);
    holdMuchUnsent(stream);
    stream.on('wantTrailers', () =>
      this.#orBreakOff(() => stream.sendTrailers(trailers === null ? {} : toHttp2(trailers))),
    );
    const writer: BodyWriter = {
      onDrain: null,
      write: (chunk) => {
        this.#touch();
        if (stream.destroyed) return true;
        turn.before(chunk);
        return stream.write(chunk);
      },
      flush: () => {},
      end: (fields) => {
        trailers = fields;
        if (!stream.destroyed) stream.end();
      },
      fail: (reason) => this.#breakOff(reason),
    };
    stream.on('drain', () => writer.onDrain?.());
    return writer;
  }

  /** Our side of an event of node:http2: what is thrown there would end the whole gateway. */
  #orBreakOff(act: () => void): void {
    try {
      act();
    } catch (cause) {
      if (cause instanceof Refusal) this.#fault(cause);
      else this.#breakOff(unsafeAnswer(this.#flow, 'exchanged fields that cannot be passed on safely', cause));
    }
  }

  #inform(headers: IncomingHttpHeaders): void {
    this.#upstream.countHead(headers);
    if (this.#settled) return;
    if (++this.#interim > maxInterimAnswers) throw unsafeAnswer(this.#flow, 'sent interim answers without end');
    const status = Number(headers[':status']);
    if (status !== 100) this.#flow.wrapped.inform(status, fieldsOf(headers));
  }

  #respond(headers: IncomingHttpHeaders, flags: number): void {
    this.#upstream.countHead(headers);
    if (this.#settled) return;
    this.#touch();
    const status = Number(headers[':status']);
    if (status > 599) throw unsafeAnswer(this.#flow, `answered with status ${status}`);
    this.#status = status;
    this.#settings.watch.answered(this.#flow);
    const ended = (flags & endStreamFlag) !== 0;
    const fields = fieldsOf(headers);
    const length = fields.get('content-length');
    // To HEAD, and in a 304, it is the length of what is not sent; the end may still come in a frame of its own.
    const isBare = this.#flow.canonical.method === 'HEAD' || status === 304;
    if (!ended && !isBare && length !== undefined) this.#missingBytes = Number(length);
    this.#writer = this.#flow.wrapped.respond({
      status: this.#status,
      reason: '',
      headers: fields,
      framing: ended ? { kind: 'none' } : { kind: 'chunked' },
    });
    this.#writer.onDrain = () => this.#stream!.resume();
  }

  #complete(): void {
    if (this.#settled) return;
    if (this.#status === 0) {
      this.#failed(null);
      return;
    }
    // A stream that is reset without an error ends like one that is whole; an HTTP/1.1 client would wait for the rest.
    if (this.#missingBytes !== null && this.#missingBytes !== 0) {
      this.#breakOff(brokeOff(this.#flow, 'closed the stream before its answer was complete'));
      return;
    }
    this.#settle();
    try {
      this.#writer!.end(this.#trailers);
    } catch (cause) {
      this.#reject(cause instanceof Refusal ? cause : unsafeAnswer(this.#flow, 'sent an unreadable answer', cause));
      return;
    }
    this.#resolve(enrich(this.#flow, { status: this.#status, upstreamAddress: this.#upstream.address }));
  }

  #failed(error: Error | null): void {
    if (this.#settled) return;
    const { tooMuch } = this.#upstream;
    // Not tried once more: it would flood again.
    if (tooMuch !== null) {
      this.#fault(unsafeAnswer(this.#flow, `${tooMuch}, again and again: the connection was closed`, error));
      return;
    }
    const stale =
      this.#status === 0 &&
      (this.#upstream.session.destroyed || this.#stream!.rstCode === http2().constants.NGHTTP2_REFUSED_STREAM);
    if (stale) {
      this.#settle();
      this.#reject(new StaleConnection());
      return;
    }
    this.#fault(
      brokeOff(
        this.#flow,
        'broke off the request',
        error ?? new Error(`stream closed with code ${this.#stream!.rstCode}`),
      ),
    );
  }

  expire(): void {
    const stream = this.#stream!;
    const answered = this.#status !== 0;
    const later = deadlineAfterPause(this.#flow.wrapped, this.#settings, answered);
    if (later !== null) {
      this.deadlineMs = later;
      return;
    }
    // It is the client that takes nothing, and its door keeps that time.
    if (answered && stream.isPaused()) {
      this.#touch();
      return;
    }
    // Its session may be dead without node:http2 knowing: the next request gets another.
    if (!answered) this.#upstream.retire();
    this.#fault(stoodStill(this.#flow, answered, stream.writableEnded || stream.writableNeedDrain));
  }

  /** Of the upstream. */
  #fault(reason: Refusal): void {
    if (!this.#settled && this.#status === 0) this.#settings.watch.unanswered(this.#flow, reason);
    this.#breakOff(reason);
  }

  #breakOff(reason: Error): void {
    if (this.#settled) return;
    this.#settle();
    this.#stream!.close(http2().constants.NGHTTP2_CANCEL);
    this.#writer?.fail(reason);
    this.#reject(reason);
  }

  #settle(): void {
    this.#settled = true;
    this.#settings.sweeper.leave(this);
    this.#upstream.streamClosed();
  }

  #touch(): void {
    const { sweeper, headersTimeoutMs, idleTimeoutMs } = this.#settings;
    this.deadlineMs = sweeper.deadlineIn(this.#status === 0 ? headersTimeoutMs : idleTimeoutMs);
  }
}

function requestHeaders(flow: Wrapped): OutgoingHttpHeaders {
  const { canonical } = flow;
  const outgoing = lastOutgoing(flow);
  const origin = originOf(flow);
  return {
    ':method': canonical.method,
    ':scheme': origin.scheme,
    ':authority': authorityOf(origin),
    ':path': outgoing.target,
    ...toHttp2(outgoing.headers),
  };
}

function fieldsOf(headers: IncomingHttpHeaders): HeaderList {
  return endToEnd(fieldsOfHttp2(headers));
}
