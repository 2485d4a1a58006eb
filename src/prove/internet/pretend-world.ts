// An internet on loopback, for proofs and demonstrations that need none: every host of it is one server that speaks TLS
// (HTTP/1.1, HTTP/2, WebSocket) and plain HTTP on one port, and remembers whatever reached it. Never dials anything.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { makePretendCa } from './pretend-ca.ts';

export interface SeenRequest {
  readonly method: string;
  /** Lower case, without port. */
  readonly host: string;
  /** Path and query. */
  readonly url: string;
  readonly scheme: 'https' | 'http';
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As much of it as came so far, at most 64 KiB; one character for each byte. */
  body: string;
}

export type PretendRequest = Http2ServerRequest;
export type PretendResponse = Http2ServerResponse;

/** Plays a host. What it does not answer stays open. */
export interface PretendHost {
  serve(request: PretendRequest, response: PretendResponse, seen: SeenRequest): void;
  /** A request to switch protocols; left out: the connection is closed. */
  upgrade?(request: IncomingMessage, socket: Duplex): void;
}

export interface PretendWorld {
  /** `127.0.0.1:PORT`, for `upstream.resolve`. */
  readonly address: string;
  /** PEM, for `upstream.ca`. */
  readonly certificate: string;
  /** In the order of arrival. */
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

const maxBody = 64 * 1024;

/** `hostFor`: who plays this name; a name that nobody plays answers 200 and says that it was reached. */
export async function startPretendWorld(hostFor: (name: string) => PretendHost | undefined): Promise<PretendWorld> {
  const ca = makePretendCa();
  const seen: SeenRequest[] = [];
  const note = (request: PretendRequest | IncomingMessage, scheme: SeenRequest['scheme']): SeenRequest => {
    const { method = '', url = '' } = request;
    const headers = { ...request.headers };
    const noted: SeenRequest = { method, host: hostOf(headers), url, scheme, headers, body: '' };
    seen.push(noted);
    return noted;
  };
  const serve = (scheme: SeenRequest['scheme']) => (request: PretendRequest, response: PretendResponse) => {
    const noted = note(request, scheme);
    request.on('data', (chunk: Buffer) => {
      if (noted.body.length < maxBody) noted.body += chunk.toString('latin1');
    });
    request.on('error', () => {});
    response.on('error', () => {});
    (hostFor(noted.host) ?? nobody).serve(request, response, noted);
  };
  const upgrade = (scheme: SeenRequest['scheme']) => (request: IncomingMessage, socket: Duplex) => {
    const noted = note(request, scheme);
    socket.on('error', () => {});
    const host = hostFor(noted.host);
    if (host?.upgrade === undefined) socket.destroy();
    else host.upgrade(request, socket);
  };

  const secure = createSecureServer(
    {
      allowHTTP1: true,
      SNICallback: (name, done) => done(null, ca.contextFor(name.toLowerCase())),
    },
    serve('https'),
  );
  secure.on('upgrade', upgrade('https'));
  const plainServe = serve('http') as unknown as (request: IncomingMessage, response: ServerResponse) => void;
  const plain = createServer(plainServe).on('upgrade', upgrade('http'));
  const door = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      // A TLS record of a handshake begins with 22. TLS takes what was read already by itself; HTTP waits for more.
      if (first[0] === 22) {
        secure.emit('connection', socket);
        return;
      }
      plain.emit('connection', socket);
      socket.resume();
    });
  });
  const { address, close } = await listenOnLoopback(door);
  return {
    address,
    certificate: ca.certificate,
    seen,
    close,
  };
}

/** `undefined` goes out as no body at all, a string as text, anything else as JSON. */
export function reply(
  response: PretendResponse,
  status: number,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
  response.end(body === undefined ? '' : isText || Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

const nobody: PretendHost = {
  serve: (_request, response, { host, method, url }) => reply(response, 200, { reached: host, method, url }),
};

function hostOf(headers: SeenRequest['headers']): string {
  const authority = headers[':authority'] ?? headers.host;
  return String(authority ?? '')
    .toLowerCase()
    .replace(/:\d+$/, '');
}
