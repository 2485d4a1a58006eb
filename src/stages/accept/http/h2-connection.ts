// One client connection that speaks HTTP/2, chosen by ALPN: node:http2 on a TLS socket we terminated. Each stream is a
// request like any other. Extended CONNECT is not offered: WebSocket clients then use HTTP/1.1, which passes.
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream, ServerSessionOptions } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { H2Flood, type SessionTotals } from '../../../kit/floods/h2-flood.ts';
import type { Perishable } from '../../../kit/sweeper.ts';
import type { Exchange, Framing } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { RawRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { http2 } from '../../../protocols/http/http2-module.ts';
import { UnservedExchange } from '../doors/unserved-exchange.ts';
import { bodyTooLarge } from '../request-faults.ts';
import { ClientIntake, takenBytes, waitingBytes } from './client-intake.ts';
import type { ConnectionOrigin, ConnectionSettings } from './connection-settings.ts';
import { H2Exchange, headerListFromRaw, type StreamHost } from './h2-exchange.ts';

export type OnH2Request = (request: RawRequest, exchange: Exchange) => void;

const endStreamFlag = 0x1;
/** What may come of a body that nobody reads, as on HTTP/1.1. */
const streamWindowBytes = 256 * 1024;
/** What may be under way of all of them. The 64 KiB of the protocol would be given back after every other frame. */
const sessionWindowBytes = 1024 * 1024;

export class H2Connection implements Perishable, StreamHost {
  /** It looks at itself whenever the sweeper comes by. */
  deadlineMs = 0;
  readonly settings: ConnectionSettings;
  readonly #socket: TLSSocket;
  readonly #transport: Socket;
  readonly #session: ServerHttp2Session;
  readonly #origin: ConnectionOrigin;
  readonly #onRequest: OnH2Request;
  readonly #flood: H2Flood;
  readonly #intake: ClientIntake;
  readonly #open = new Set<H2Exchange>();
  /** While no stream is open. The first time: until there was one. */
  #idleUntilMs: number;
  #usefulBytes = 0;

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
    this.#session = http2().performServerHandshake(socket, sessionOptions(settings.headBytes));
    this.#session.setLocalWindowSize(sessionWindowBytes);
    this.#session.on(
      'stream',
      (stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, flags: number, raw: string[]) =>
        this.#serve(stream, flags, raw),
    );
    this.#session.on('error', () => this.#session.destroy());
    this.#session.on('close', () => settings.sweeper.leave(this));
    settings.sweeper.join(this);
  }

  close(): void {
    this.#session.close();
  }

  expire(): void {
    const { nowMs } = this.settings.sweeper;
    if (this.#open.size === 0 && nowMs >= this.#idleUntilMs) {
      this.#session.destroy();
      return;
    }
    for (const exchange of this.#open) if (exchange.deadlineMs <= nowMs) exchange.expire();
    if (this.#session.destroyed) return;
    const tooMuch = this.#flood.look(this.#totals(), nowMs);
    if (tooMuch !== null) this.#calm(tooMuch);
  }

  countUseful(bytes: number): void {
    this.#usefulBytes += bytes;
  }

  /** The client does not take what is before it. */
  cutStream(stream: ServerHttp2Stream): void {
    // A client that reads nothing cannot be told anything either.
    const isDeaf = waitingBytes(this.#socket, this.#transport) > 0 && !this.#intake.moved();
    // Closed before and still here: after a fault of the protocol node:http2 sends its goodbye and neither reads nor
    // writes again, and nothing else would ever end such a session.
    if (isDeaf || stream.closed) this.#session.destroy();
    else stream.close(http2().constants.NGHTTP2_CANCEL);
  }

  /** Guards: more requests than are worth an answer. What else is on the connection ends with it. */
  hangUp(): void {
    const { NGHTTP2_ENHANCE_YOUR_CALM } = http2().constants;
    // Without an error node:http2 would say that there was none.
    this.#session.destroy(new Error('the client asks on and on'), NGHTTP2_ENHANCE_YOUR_CALM);
  }

  streamClosed(exchange: H2Exchange, byClient: boolean): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#idleUntilMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
    // What it had sent of a body before it knew that nobody reads it.
    if (!exchange.isRequestOver) {
      this.#usefulBytes += this.#flood.cutBytes(exchange.unreadBytes, this.settings.sweeper.nowMs);
    }
    if (!byClient || this.#session.destroyed) return;
    if (this.#flood.isResetTooMany(this.settings.sweeper.nowMs)) this.#calm('takes back what it has asked for');
  }

  /** Guards: rapid reset and floods of frames. One record, whatever was in it. */
  #calm(what: string): void {
    const { NGHTTP2_ENHANCE_YOUR_CALM } = http2().constants;
    const fault = new Refusal('limit.http2-flood', `the client ${what}, again and again`, {
      rule: 'built-in: HTTP/2 without floods',
      hint: 'Open a new connection, and send only requests whose answers you want.',
    });
    const exchange = new ClosingExchange(() => {
      // Without an error node:http2 would say that there was none.
      if (!this.#session.destroyed) this.#session.destroy(fault, NGHTTP2_ENHANCE_YOUR_CALM);
    });
    this.#onRequest(this.#rawRequest([], new HeaderList(), fault), exchange);
  }

  #totals(): SessionTotals {
    let usefulBytes = this.#usefulBytes;
    let unreadPieces = 0;
    for (const exchange of this.#open) {
      usefulBytes += exchange.unreadBytes;
      unreadPieces += exchange.unreadPieces;
    }
    const wireBytes = this.#socket.bytesRead;
    return { wireBytes, usefulBytes, takenBytes: takenBytes(this.#transport), unreadPieces };
  }

  #serve(stream: ServerHttp2Stream, flags: number, raw: string[]): void {
    const headers = headerListFromRaw(raw);
    let headBytes = 0;
    for (const text of raw) headBytes += text.length;
    this.#usefulBytes += this.#flood.headBytes(headBytes);
    const length = headers.get('content-length');
    const expect = headers.get('expect');
    const framing = framingOf((flags & endStreamFlag) !== 0, length);
    const schemeFits = (pseudo(raw, ':scheme') ?? '') === this.#origin.scheme;
    const fault = lookAlike(headers) ?? faultOf(framing, schemeFits, expect, this.settings.requestBodyBytes);
    const exchange = new H2Exchange(
      this,
      stream,
      framing ?? { kind: 'none' },
      expect?.toLowerCase() === '100-continue',
    );
    this.#open.add(exchange);
    this.#onRequest(this.#rawRequest(raw, headers, fault), exchange);
  }

  #rawRequest(raw: readonly string[], headers: HeaderList, fault: Refusal | null): RawRequest {
    const { scheme, connect, sni, destination } = this.#origin;
    return {
      protocol: 'h2',
      scheme,
      method: pseudo(raw, ':method') ?? '',
      target: pseudo(raw, ':path') ?? '',
      authority: pseudo(raw, ':authority'),
      headers,
      connect,
      sni,
      kind: 'http',
      hiddenName: false,
      destination,
      fault,
    };
  }
}

/** The limits of node:http2 itself, where it has them: what it refuses never becomes a request. */
function sessionOptions(headBytes: number): ServerSessionOptions {
  return {
    settings: {
      initialWindowSize: streamWindowBytes,
      maxConcurrentStreams: 128,
      // Guards: HPACK bombs. Decoded, with 32 bytes for each field.
      maxHeaderListSize: headBytes,
      enablePush: false,
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: 256,
    maxSettings: 16,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    maxOutstandingPings: 4,
    maxSessionMemory: 10,
  };
}

function framingOf(ended: boolean, length: string | undefined): Framing | null {
  // No nought before it: some servers read that as octal, and it is sent on as it came.
  if (length !== undefined && !/^(?:0|[1-9]\d{0,14})$/.test(length)) return null;
  if (ended) return length === undefined || Number(length) === 0 ? { kind: 'none' } : null;
  return length === undefined ? { kind: 'chunked' } : { kind: 'length', bytes: Number(length) };
}

/** An HTTP/1.1 upstream may fold `_` to `-` and would see framing that we did not write. */
function lookAlike(headers: HeaderList): Refusal | null {
  if (!headers.has('content_length') && !headers.has('transfer_encoding')) return null;
  return new Refusal(
    'malformed.framing',
    'a header field looks like Content-Length or Transfer-Encoding with an underscore',
  );
}

function faultOf(
  framing: Framing | null,
  schemeFits: boolean,
  expect: string | undefined,
  maxBytes: number,
): Refusal | null {
  if (framing === null) return new Refusal('malformed.framing', 'Content-Length does not fit the request');
  if (!schemeFits)
    return new Refusal('malformed.syntax', 'the :scheme of the request is not the scheme of its connection');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Refusal('malformed.expect', 'the expectation is unknown');
  }
  if (maxBytes > 0 && framing.kind === 'length' && framing.bytes > maxBytes) return bodyTooLarge(maxBytes);
  return null;
}

function pseudo(raw: readonly string[], name: string): string | null {
  for (let i = 0; i + 1 < raw.length && raw[i]!.startsWith(':'); i += 2) if (raw[i] === name) return raw[i + 1]!;
  return null;
}

// A connection that we close because of what the client did. It goes through the path so that the refusal is recorded like
// any other. The client gets no message, only the close, and nothing is ever forwarded.
class ClosingExchange extends UnservedExchange {
  readonly #close: () => void;

  constructor(close: () => void) {
    super();
    this.#close = close;
  }

  answer(): void {
    this.answered = true;
    this.#close();
  }

  abort(): void {
    this.#close();
  }
}
