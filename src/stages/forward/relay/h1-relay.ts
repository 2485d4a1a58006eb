// One request over one HTTP/1.1 upstream connection, streamed both ways. Between two HTTP/1.1 sides bodies are passed
// on as the buffers they came in, framing checked; towards an HTTP/2 client they are unwrapped. An answer that cannot
// be read in exactly one way is an upstream failure, and what was half sent is never made to look whole.

import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Forwarded } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { BodyReader } from '../../../protocols/http1/body-reader.ts';
import { type ParsedResponseHead, parseResponseHead } from '../../../protocols/http1/response-head.ts';
import { endToEnd } from '../answer/end-to-end.ts';
import type { ConnectionOwner, H1Upstream, UpstreamPool } from '../dial/upstream-pool.ts';
import { H1RequestBody } from './h1-request-body.ts';
import { HeldHead } from './held-head.ts';
import {
  deadlineAfterPause,
  maxInterimAnswers,
  type RelaySettings,
  StaleConnection,
  type Wrapped,
} from './relay-settings.ts';
import { requestHead } from './request-head.ts';
import { brokeOff, stoodStill, unsafeAnswer } from './upstream-faults.ts';
import { WebSocketRelay } from './websocket-relay.ts';

export function relayH1(
  upstream: H1Upstream,
  flow: Wrapped,
  pool: UpstreamPool,
  settings: RelaySettings,
): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    new H1Relay(upstream, flow, pool, settings, resolve, reject).start();
  });
}

class H1Relay implements BodyWriter, ConnectionOwner {
  onDrain: (() => void) | null = null;
  readonly #upstream: H1Upstream;
  readonly #flow: Wrapped;
  readonly #pool: UpstreamPool;
  readonly #settings: RelaySettings;
  readonly #resolve: (flow: Forwarded) => void;
  readonly #reject: (error: Error) => void;
  readonly #heldHead = new HeldHead();
  #body: H1RequestBody | null = null;
  #keepAlive: string | undefined;
  #requestSent = false;
  #interim = 0;
  #response: ParsedResponseHead | null = null;
  #reader: BodyReader | null = null;
  #writer: BodyWriter | null = null;
  #settled = false;

  constructor(
    upstream: H1Upstream,
    flow: Wrapped,
    pool: UpstreamPool,
    settings: RelaySettings,
    resolve: (flow: Forwarded) => void,
    reject: (error: Error) => void,
  ) {
    this.#upstream = upstream;
    this.#flow = flow;
    this.#pool = pool;
    this.#settings = settings;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { wrapped: exchange } = this.#flow;
    this.#upstream.owner = this;
    this.#touch();
    exchange.onAbandoned = () => this.#abandon();
    const head = requestHead(this.#flow);
    if (exchange.requestFraming.kind === 'none') {
      this.#requestSent = true;
      this.#upstream.socket.write(head, 'latin1');
      return;
    }
    const rechunk = exchange.form === 'payload' && exchange.requestFraming.kind === 'chunked';
    this.#body = new H1RequestBody(this.#upstream.socket, head, rechunk);
    exchange.sendBody(this);
    this.flush();
  }

  // The request body, from the client.

  write(chunk: Buffer): boolean {
    if (this.#settled) return true;
    this.#touch();
    return this.#body!.write(chunk);
  }

  flush(): void {
    if (!this.#settled) this.#body?.flush();
  }

  end(trailers: HeaderList | null): void {
    if (this.#settled) return;
    this.#requestSent = true;
    try {
      this.#body!.end(trailers);
    } catch (error) {
      this.fail(error as Refusal);
    }
  }

  fail(reason: Error): void {
    this.#breakOff(reason);
  }

  // The answer, from the upstream.

  onUpstreamData(chunk: Buffer): void {
    // A head must come as a whole in its time: one that drips has no claim to more.
    if (this.#response !== null) this.#touch();
    try {
      if (this.#reader === null) this.#readHead(chunk);
      else this.#readBody(chunk, 0);
    } catch (cause) {
      const reason = cause instanceof Refusal ? cause : unsafeAnswer(this.#flow, 'sent an unreadable answer', cause);
      this.#breakOff(this.#noted(reason));
    }
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#heldHead.add(chunk);
    if (bytes === null) return;
    let at = 0;
    for (;;) {
      const head = parseResponseHead(bytes, at, this.#settings.headBytes, this.#flow.canonical.method);
      if (head === null) {
        this.#heldHead.keep(at === 0 ? bytes : bytes.subarray(at));
        return;
      }
      at = head.headEnd;
      if (head.status === 101) {
        this.#upgrade(head, bytes, at);
        return;
      }
      if (head.status >= 200) {
        this.#respond(head);
        this.#readBody(bytes, at);
        return;
      }
      if (++this.#interim > maxInterimAnswers) throw unsafeAnswer(this.#flow, 'sent interim answers without end');
      this.#touch();
      // 100 is answered by the exchange itself, so the upstream's own is not passed on.
      if (head.status !== 100) this.#flow.wrapped.inform(head.status, endToEnd(head));
    }
  }

  #respond(head: ParsedResponseHead): void {
    if (head.status > 599) throw unsafeAnswer(this.#flow, `answered with status ${head.status}`);
    this.#response = head;
    this.#settings.watch.answered(this.#flow);
    this.#keepAlive = head.values[head.keys.indexOf('keep-alive')];
    this.#touch();
    this.#reader = new BodyReader(head.framing);
    const writer = this.#flow.wrapped.respond({
      status: head.status,
      reason: head.reason,
      headers: endToEnd(head),
      framing: head.framing,
    });
    writer.onDrain = () => this.#upstream.socket.resume();
    this.#writer = writer;
  }

  #readBody(bytes: Buffer, at: number): void {
    const writer = this.#writer!;
    const reader = this.#reader!;
    let more = true;
    let end: number;
    if (this.#flow.wrapped.form === 'wire') {
      end = reader.feedWire(bytes, at);
      const to = end < 0 ? bytes.length : end;
      if (to > at) more = writer.write(at === 0 && to === bytes.length ? bytes : bytes.subarray(at, to));
      else writer.flush();
    } else {
      end = reader.feedJoined(bytes, at, (slice) => {
        more = writer.write(slice) && more;
      });
    }
    if (end >= 0) this.#complete(end === bytes.length);
    else if (!more) this.#upstream.socket.pause();
  }

  /** The answer is whole. `clean`: nothing came after it. */
  #complete(clean: boolean): void {
    const { trailers } = this.#reader!;
    const response = this.#response!;
    const upstream = this.#upstream;
    this.#settled = true;
    upstream.owner = null;
    if (clean && response.keepAlive && this.#requestSent && !upstream.socket.destroyed) {
      upstream.socket.resume();
      this.#pool.give(upstream, this.#keepAlive);
    } else upstream.socket.destroy();
    this.#conclude(trailers === null ? null : new HeaderList(trailers.names, trailers.keys, trailers.values));
  }

  /** The answer is whole; whoever rewrites it on the way to the client may still find that it must not be passed on. */
  #conclude(trailers: HeaderList | null): void {
    try {
      this.#writer!.end(trailers);
    } catch (cause) {
      this.#reject(cause instanceof Refusal ? cause : unsafeAnswer(this.#flow, 'sent an unreadable answer', cause));
      return;
    }
    const { status } = this.#response!;
    this.#resolve(enrich(this.#flow, { status, upstreamAddress: this.#upstream.address }));
  }

  #upgrade(head: ParsedResponseHead, bytes: Buffer, at: number): void {
    if (this.#flow.canonical.kind !== 'websocket') {
      throw unsafeAnswer(this.#flow, 'switched protocols unasked');
    }
    this.#response = head;
    this.#settings.watch.answered(this.#flow);
    const headers = endToEnd(head).append('Connection', 'Upgrade').append('Upgrade', 'websocket');
    const { wrapped: exchange } = this.#flow;
    exchange.respond({ status: 101, reason: head.reason, headers, framing: head.framing }).flush();
    this.#settled = true;
    const relay = new WebSocketRelay(this.#upstream, this.#flow, this.#settings, this.#resolve, this.#reject);
    relay.start(bytes.subarray(at));
  }

  onUpstreamDrain(): void {
    this.onDrain?.();
  }

  onUpstreamEnd(): void {
    // What it does not read would else keep the client until time runs out.
    this.#upstream.socket.destroy();
  }

  onUpstreamClosed(error: Error | null): void {
    if (this.#settled) return;
    this.#settled = true;
    // An answer until close is whole when the close was in good order.
    if (this.#response?.framing.kind === 'until-close' && error === null) {
      this.#conclude(null);
      return;
    }
    this.#writer?.fail(error ?? new Error('upstream closed'));
    const untouched = this.#response === null && this.#heldHead.isEmpty;
    if (untouched && this.#upstream.reused) this.#reject(new StaleConnection());
    else {
      const what = 'closed the connection before its answer was complete';
      this.#reject(this.#noted(brokeOff(this.#flow, what, error ?? undefined)));
    }
  }

  onUpstreamExpired(): void {
    const { socket } = this.#upstream;
    const answered = this.#response !== null;
    const later = deadlineAfterPause(this.#flow.wrapped, this.#settings, answered);
    if (later !== null) this.#upstream.deadlineMs = later;
    // It is the client that takes nothing, and its door keeps that time.
    else if (answered && socket.isPaused()) this.#touch();
    else this.#breakOff(this.#noted(stoodStill(this.#flow, answered, this.#requestSent || socket.writableNeedDrain)));
  }

  #abandon(): void {
    this.#breakOff(new ClientGone());
  }

  #noted(reason: Refusal): Refusal {
    if (this.#response === null) this.#settings.watch.unanswered(this.#flow, reason);
    return reason;
  }

  #breakOff(reason: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#upstream.owner = null;
    this.#upstream.socket.destroy();
    this.#writer?.fail(reason);
    this.#reject(reason);
  }

  #touch(): void {
    const { idleTimeoutMs, headersTimeoutMs, sweeper } = this.#settings;
    this.#upstream.deadlineMs = sweeper.deadlineIn(this.#response === null ? headersTimeoutMs : idleTimeoutMs);
  }
}
