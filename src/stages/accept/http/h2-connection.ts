// One client connection that speaks HTTP/2, chosen by ALPN: our own codec on a TLS socket we terminated. Each stream is a
// request like any other. Extended CONNECT is not offered: WebSocket clients then use HTTP/1.1, which passes.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { H2Flood, type SessionTotals } from '../../../kit/floods/h2-flood.ts';
import { noteRead } from '../../../kit/process/young-bytes.ts';
import type { Perishable } from '../../../kit/sweeper.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import type { RawRequest } from '../../../path/flow.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { errorCode, Http2Fault } from '../../../protocols/http2/http2-fault.ts';
import { Http2Server, type ServerHandler } from '../../../protocols/http2/http2-server.ts';
import type { Http2Stream } from '../../../protocols/http2/http2-stream.ts';
import type { RequestFields } from '../../../protocols/http2/request-fields.ts';
import { ClientIntake, takenBytes, waitingBytes } from './client-intake.ts';
import type { ConnectionOrigin, ConnectionSettings } from './connection-settings.ts';
import { H2Exchange, type StreamHost } from './h2-exchange.ts';
import {
  brokenConnection,
  brokenRequest,
  emptyRequest,
  faultInRequest,
  framingOf,
  rawRequest,
  UnansweredExchange,
} from './h2-request.ts';

export type OnH2Request = (request: RawRequest, exchange: Exchange) => void;

/** What may come of a body that nobody reads, as on HTTP/1.1. */
const streamWindowBytes = 256 * 1024;
/** What may be under way of all of them. The 64 KiB of the protocol would be given back after every other frame. */
const sessionWindowBytes = 1024 * 1024;
const maxStreams = 128;
const lingerMs = 2_000;

export class H2Connection implements Perishable, StreamHost, ServerHandler {
  /** It looks at itself whenever the sweeper comes by. */
  deadlineMs = 0;
  readonly settings: ConnectionSettings;
  readonly session: Http2Server;
  readonly #socket: TLSSocket;
  readonly #transport: Socket;
  readonly #origin: ConnectionOrigin;
  readonly #onRequest: OnH2Request;
  readonly #flood: H2Flood;
  readonly #intake: ClientIntake;
  readonly #open = new Set<H2Exchange>();
  /** While no stream is open. The first time: until there was one. */
  #idleUntilMs: number;
  /** A head has begun, and until when it must be whole. */
  #headUntilMs = Number.POSITIVE_INFINITY;
  /** The goodbye was said: until when the client may take it. */
  #endsMs = Number.POSITIVE_INFINITY;
  #wireBytes = 0;
  #usefulBytes = 0;
  /** It is in the journal already why this connection ends. */
  #isRecorded = false;

  constructor(
    socket: TLSSocket,
    origin: ConnectionOrigin,
    settings: ConnectionSettings,
    onRequest: OnH2Request,
    transport: Socket = socket,
  ) {
    this.settings = settings;
    this.#socket = socket;
    this.#transport = transport;
    this.#origin = origin;
    this.#onRequest = onRequest;
    const nowMs = performance.now();
    this.#idleUntilMs = nowMs + settings.clientHeadTimeoutMs;
    this.#flood = new H2Flood(nowMs);
    this.#intake = new ClientIntake(transport);
    const limits = { headBytes: settings.headBytes, streams: maxStreams, streamWindowBytes, sessionWindowBytes };
    this.session = new Http2Server(socket, limits, this);
    socket.on('data', (chunk: Buffer) => {
      this.#wireBytes += chunk.length;
      noteRead(chunk.length);
      this.session.feed(chunk);
    });
    socket.on('drain', () => this.session.drained());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      settings.sweeper.leave(this);
      this.session.end();
    });
    settings.sweeper.join(this);
  }

  close(): void {
    this.session.leave();
  }

  expire(): void {
    const { nowMs } = this.settings.sweeper;
    if (this.session.isOver) {
      if (nowMs >= this.#endsMs) this.#endLate();
      return;
    }
    if (this.#isSilent(nowMs)) {
      this.#end(0);
      return;
    }
    this.session.stopUnread();
    for (const exchange of this.#open) if (exchange.deadlineMs <= nowMs) exchange.expire();
    if (this.session.isOver) return;
    const tooMuch = this.#flood.look(this.#totals(), nowMs);
    if (tooMuch !== null) this.#calm(tooMuch);
  }

  countUseful(bytes: number): void {
    this.#usefulBytes += bytes;
  }

  get takenBytes(): number {
    return takenBytes(this.#transport);
  }

  /** The client does not take what is before it. */
  cutStream(stream: Http2Stream): void {
    // A client that reads nothing cannot be told anything either.
    if (waitingBytes(this.#socket, this.#transport) > 0 && !this.#intake.moved()) this.#socket.destroy();
    else this.session.reset(stream, errorCode.cancel);
  }

  /** Guards: more requests than are worth an answer. What else is on the connection ends with it. */
  hangUp(): void {
    this.#isRecorded = true;
    this.#calm('asks on and on');
  }

  streamClosed(exchange: H2Exchange, byClient: boolean): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#idleUntilMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
    // What it had sent of a body before it knew that nobody reads it.
    if (!exchange.isRequestOver) {
      this.#usefulBytes += this.#flood.cutBytes(exchange.unreadBytes, this.settings.sweeper.nowMs);
    }
    if (byClient) this.onRefused();
  }

  onRequest(stream: Http2Stream, fields: RequestFields): void {
    this.#countHead(fields);
    const framing = framingOf(stream.isRemoteDone, fields);
    const fault = faultInRequest(fields, framing, this.#origin, this.settings.requestBodyBytes);
    const exchange = new H2Exchange(this, stream, framing ?? { kind: 'none' }, fields);
    this.#open.add(exchange);
    this.#serve(fields, fault, exchange);
  }

  onMalformed(fault: string, isTooLarge: boolean): void {
    this.#serve(emptyRequest, brokenRequest(fault, isTooLarge), new UnansweredExchange());
    this.onRefused();
  }

  /** Guards: rapid reset, and requests that are none. */
  onRefused(): void {
    if (this.session.isOver) return;
    if (this.#flood.isResetTooMany(this.settings.sweeper.nowMs)) this.#calm('takes back what it has asked for');
  }

  /** One record, whatever was on the connection. */
  onFault(fault: Http2Fault): void {
    this.#end(lingerMs);
    if (this.#isRecorded) return;
    this.#isRecorded = true;
    this.#serve(emptyRequest, brokenConnection(fault), new UnansweredExchange());
  }

  onDone(): void {
    this.#end(this.settings.idleTimeoutMs);
  }

  /** Guards: rapid reset and floods of frames. */
  #calm(what: string): void {
    this.session.fail(new Http2Fault(errorCode.enhanceYourCalm, `the client ${what}, again and again`));
  }

  /** Until somebody has to be waited for no longer: a first request, the next one, the rest of a head. */
  #isSilent(nowMs: number): boolean {
    const { sweeper, clientHeadTimeoutMs, idleTimeoutMs } = this.settings;
    if (!this.session.isAwaitingHead) this.#headUntilMs = Number.POSITIVE_INFINITY;
    else if (this.#headUntilMs === Number.POSITIVE_INFINITY) this.#headUntilMs = nowMs + clientHeadTimeoutMs;
    else if (nowMs >= this.#headUntilMs) return true;
    if (this.#open.size > 0 || nowMs < this.#idleUntilMs) return false;
    if (!this.#takesItsTime()) return true;
    this.#idleUntilMs = sweeper.deadlineIn(idleTimeoutMs);
    return false;
  }

  /** A slow reader may take the tail of its answers as long as it takes some of it. */
  #takesItsTime(): boolean {
    return waitingBytes(this.#socket, this.#transport) > 0 && this.#intake.moved();
  }

  /** Says goodbye, sends what is left, and drops what still comes, so that no reset eats it. */
  #end(forMs: number): void {
    this.session.leave();
    this.session.sender.output.flush();
    this.session.end();
    this.#endsMs = this.settings.sweeper.deadlineIn(forMs);
    this.#socket.end(() => {
      this.#endsMs = Math.min(this.#endsMs, this.settings.sweeper.deadlineIn(lingerMs));
    });
  }

  #endLate(): void {
    if (this.#takesItsTime()) this.#endsMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
    else this.#socket.destroy();
  }

  #countHead({ names, values, path }: RequestFields): void {
    let headBytes = path.length;
    for (let i = 0; i < names.length; i++) headBytes += names[i]!.length + values[i]!.length;
    this.#usefulBytes += this.#flood.headBytes(headBytes);
  }

  #totals(): SessionTotals {
    let usefulBytes = this.#usefulBytes;
    let unreadPieces = 0;
    for (const exchange of this.#open) {
      usefulBytes += exchange.unreadBytes;
      unreadPieces += exchange.unreadPieces;
    }
    return { wireBytes: this.#wireBytes, usefulBytes, takenBytes: this.takenBytes, unreadPieces };
  }

  #serve(fields: RequestFields, fault: Refusal | null, exchange: Exchange): void {
    this.#onRequest(rawRequest(this.#origin, fields, fault), exchange);
  }
}
