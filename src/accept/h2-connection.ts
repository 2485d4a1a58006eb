// One client connection that speaks HTTP/2, chosen by ALPN: node:http2 on a TLS socket we terminated. Each stream is a
// request like any other. Extended CONNECT is not offered: WebSocket clients then use HTTP/1.1, which passes.
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Framing } from '../flow/exchange.ts';
import type { RawRequest } from '../flow/flow.ts';
import type { HeaderList } from '../flow/header-list.ts';
import { Refusal } from '../flow/refusal.ts';
import { http2 } from '../kit/http2-module.ts';
import type { Perishable } from '../kit/sweeper.ts';
import type { ConnectionOrigin, ConnectionSettings } from './h1-connection.ts';
import { H2Exchange, headerListFromRaw } from './h2-exchange.ts';
import { bodyTooLarge } from './request-faults.ts';

export type OnH2Request = (request: RawRequest, exchange: H2Exchange) => void;

const endStreamFlag = 0x1;

export class H2Connection implements Perishable {
  deadlineMs: number;
  readonly #session: ServerHttp2Session;
  readonly #settings: ConnectionSettings;
  #streams = 0;

  constructor(socket: TLSSocket, origin: ConnectionOrigin, settings: ConnectionSettings, onRequest: OnH2Request) {
    this.#settings = settings;
    this.deadlineMs = settings.sweeper.nowMs + settings.idleTimeoutMs;
    this.#session = http2().performServerHandshake(socket, {
      settings: {
        initialWindowSize: 1 << 20,
        maxConcurrentStreams: 128,
        enablePush: false,
        enableConnectProtocol: false,
      },
      maxHeaderListPairs: 256,
    });
    this.#session.on(
      'stream',
      (stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, flags: number, raw: string[]) => {
        this.#streams++;
        this.deadlineMs = Number.POSITIVE_INFINITY;
        stream.once('close', () => this.#streamClosed());
        this.#serve(stream, flags, raw, origin, onRequest);
      },
    );
    this.#session.on('error', () => this.#session.destroy());
    this.#session.on('close', () => settings.sweeper.leave(this));
    settings.sweeper.join(this);
  }

  close(): void {
    this.#session.close();
  }

  expire(): void {
    this.#session.destroy();
  }

  #streamClosed(): void {
    if (--this.#streams === 0) this.deadlineMs = this.#settings.sweeper.nowMs + this.#settings.idleTimeoutMs;
  }

  #serve(
    stream: ServerHttp2Stream,
    flags: number,
    raw: string[],
    origin: ConnectionOrigin,
    onRequest: OnH2Request,
  ): void {
    const headers = headerListFromRaw(raw);
    const length = headers.get('content-length');
    const expect = headers.get('expect');
    const framing = framingOf((flags & endStreamFlag) !== 0, length);
    const max = this.#settings.requestBodyBytes;
    const scheme = pseudo(raw, ':scheme') ?? '';
    onRequest(
      {
        protocol: 'h2',
        scheme: origin.scheme,
        method: pseudo(raw, ':method') ?? '',
        target: pseudo(raw, ':path') ?? '',
        authority: pseudo(raw, ':authority'),
        headers,
        connect: origin.connect,
        sni: origin.sni,
        kind: 'http',
        hiddenName: false,
        destination: origin.destination,
        fault: lookAlike(headers) ?? faultOf(framing, scheme === origin.scheme, expect, max),
      },
      new H2Exchange(
        stream,
        framing ?? { kind: 'none' },
        expect?.toLowerCase() === '100-continue',
        this.#settings.carriesCredential,
      ),
    );
  }
}

function framingOf(ended: boolean, length: string | undefined): Framing | null {
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return null;
  if (ended) return length === undefined || Number(length) === 0 ? { kind: 'none' } : null;
  return length === undefined ? { kind: 'chunked' } : { kind: 'length', bytes: Number(length) };
}

/** An HTTP/1.1 upstream may fold `_` to `-` and would see framing that we did not write. */
function lookAlike(headers: HeaderList): Refusal | null {
  if (!headers.has('content_length') && !headers.has('transfer_encoding')) return null;
  return new Refusal('malformed.framing', 'a field is named like a framing field but for an underscore');
}

function faultOf(
  framing: Framing | null,
  schemeFits: boolean,
  expect: string | undefined,
  maxBytes: number,
): Refusal | null {
  if (framing === null) return new Refusal('malformed.framing', 'Content-Length does not fit the request');
  if (!schemeFits) return new Refusal('malformed.syntax', 'the :scheme is not that of the connection');
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
