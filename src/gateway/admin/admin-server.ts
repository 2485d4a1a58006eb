// The admin API on a Unix socket that only its owner and root can use. The kernel says who connects, before a byte of
// the request is parsed; when it cannot say, nobody gets in. Must never listen on TCP.
// Guards: the registry and the credentials against other users of the host, and against browsers.
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';
import { type PeerCredentials, readPeerCredentials } from '../../kit/process/peer-credentials.ts';
import { listenOnDescriptor, listenOnUnixSocket } from '../../kit/process/unix-listen.ts';
import { AdminError, asAdminError } from './admin-error.ts';
import type { AdminPorts } from './admin-ports.ts';
import { waitsForTheEnd } from './join-route.ts';
import { type AdminAnswer, answerCall, MethodNotAllowed } from './routes.ts';

const idleTimeoutMs = 30_000;
/** Who is at the other end, as the kernel said it. */
const peers = new WeakMap<Socket, number>();

export interface AdminServerOptions {
  readonly socketPath: string;
  readonly ports: AdminPorts;
  /** Hears of refused peers and of our own faults; they are not told to the client. */
  readonly onFault: (what: string, error: unknown) => void;
  /** A socket at that path which listens already: its descriptor. Default: one is made. */
  readonly listenOn?: number | undefined;
  /** Replaced in tests only. */
  readonly identifyPeer?: (socket: Socket) => Promise<PeerCredentials>;
}

export interface AdminServer {
  readonly socketPath: string;
  /** Stops listening and ends open requests, also followed feeds; who waits for the end of this process does so still. */
  close(): Promise<void>;
}

export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const { socketPath, onFault } = options;
  const identifyPeer = options.identifyPeer ?? readPeerCredentials;
  ensurePrivateDirectory(dirname(socketPath));

  const sockets = new Set<Socket>();
  const http = createHttpServer(
    { maxHeaderSize: 16 * 1024, keepAliveTimeout: 5_000, requireHostHeader: false },
    (request, response) => {
      serve(options, request, response).catch((error: unknown) => {
        onFault(`the admin API failed at ${request.method} ${request.url}`, error);
        // An answer that has begun cannot be mended; the reader must see that it is not whole.
        if (response.headersSent) response.destroy();
        else giveError(error, request, response);
      });
    },
  );
  // The timers of node:http belong to a server that listens itself; this one is only handed sockets.
  http.timeout = idleTimeoutMs;

  // The socket is kept apart from the HTTP server so that a peer that is not admitted never reaches the parser.
  const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    admit(identifyPeer, socket).then(
      ({ uid }) => {
        peers.set(socket, uid);
        http.emit('connection', socket);
        socket.resume();
      },
      (error: unknown) => {
        onFault('an admin connection was refused', error);
        turnAway(socket);
      },
    );
  });
  listener.maxConnections = 128;
  if (options.listenOn === undefined) await listenOnUnixSocket(listener, socketPath);
  else await listenOnDescriptor(listener, options.listenOn);

  return {
    socketPath,
    close: async () => {
      const closed = once(listener, 'close');
      listener.close();
      const ended = [...sockets].filter((socket) => !waitsForTheEnd(socket));
      for (const socket of ended) socket.destroy();
      if (ended.length === sockets.size) await closed;
    },
  };
}

async function admit(
  identifyPeer: (socket: Socket) => Promise<PeerCredentials>,
  socket: Socket,
): Promise<PeerCredentials> {
  const peer = await identifyPeer(socket);
  const own = process.geteuid?.();
  if (peer.uid !== own && peer.uid !== 0) {
    throw new Error(`user ${peer.uid} (process ${peer.pid}) may not use the admin socket of user ${own}`);
  }
  return peer;
}

function turnAway(socket: Socket): void {
  const body = describe(
    new AdminError(
      403,
      'admin.peer',
      'only the owner of this admin socket and root may use it',
      'Run this as its owner.',
    ),
  );
  socket.end(
    `HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
  // What it sends is thrown away unread for a moment, so that it hears the answer instead of a broken pipe.
  socket.resume();
  setTimeout(() => socket.destroy(), 500).unref();
}

async function serve(
  { ports, onFault }: AdminServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('cache-control', 'no-store');
  try {
    if (request.headers.origin !== undefined) {
      throw new AdminError(403, 'admin.browser', 'requests from web pages are refused here');
    }
    await give(await answerCall(ports, request, peers.get(request.socket) ?? null), response);
  } catch (error) {
    const known = asAdminError(error);
    if (response.headersSent || known === null) throw error;
    // Ours and known, e.g. a disk that is full: the operator reads it here and in the log.
    if (known.status >= 500) onFault('an admin request failed', error);
    giveError(error, request, response);
  }
}

async function give(answer: AdminAnswer, response: ServerResponse): Promise<void> {
  response.statusCode = answer.status;
  if ('lines' in answer) return giveLines(answer.lines, response);
  if ('text' in answer) {
    response.setHeader('content-type', answer.type);
    response.end(answer.text);
  } else if ('json' in answer) {
    if (answer.location !== undefined) response.setHeader('location', answer.location);
    response.setHeader('content-type', 'application/json');
    response.end(`${JSON.stringify(answer.json)}\n`);
  } else {
    response.end();
  }
}

async function giveLines(lines: (signal: AbortSignal) => AsyncIterable<object>, response: ServerResponse) {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.setHeader('content-type', 'application/x-ndjson');
  response.setTimeout(0);
  response.flushHeaders();
  for await (const line of lines(gone.signal)) {
    if (gone.signal.aborted) return;
    if (!response.write(`${JSON.stringify(line)}\n`)) {
      await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
    }
  }
  response.end();
}

function giveError(error: unknown, request: IncomingMessage, response: ServerResponse): void {
  const known =
    asAdminError(error) ?? new AdminError(500, 'internal.error', 'the gateway had an internal error; its log says why');
  if (error instanceof MethodNotAllowed) response.setHeader('allow', error.allow);
  // A body that was not read to its end would be taken for the next request.
  if (!request.complete) response.setHeader('connection', 'close');
  response.statusCode = known.status;
  response.setHeader('content-type', 'application/json');
  response.end(describe(known));
}

function describe(error: AdminError): string {
  return `${JSON.stringify({ error: error.message, code: error.code, hint: error.hint })}\n`;
}
