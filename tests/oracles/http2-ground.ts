// A server of ours on plain TCP, for clients that speak HTTP/2 without TLS ("prior knowledge"): answers with what it was sent.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Http2Server } from '../../src/protocols/http2/http2-server.ts';
import type { FieldLists, Http2Stream } from '../../src/protocols/http2/http2-stream.ts';
import type { RequestFields } from '../../src/protocols/http2/request-fields.ts';

export interface EchoServer {
  readonly port: number;
  /** What went wrong, in words; a client in order makes nothing go wrong. */
  readonly faults: string[];
  readonly requests: RequestFields[];
  stop(): Promise<void>;
}

const limits = { headBytes: 65_536, streams: 128, streamWindowBytes: 256 * 1024, sessionWindowBytes: 1024 * 1024 };

/** `/zeros/N` is answered with so many bytes, anything else with its own body, `x-*` fields and trailers. */
export async function startEchoServer(): Promise<EchoServer> {
  const faults: string[] = [];
  const requests: RequestFields[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    serve(socket, faults, requests);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    faults,
    requests,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function serve(socket: Socket, faults: string[], requests: RequestFields[]): void {
  const http2 = new Http2Server(socket, limits, {
    onRequest: (stream, request) => {
      requests.push(request);
      echo(http2, stream, request);
    },
    onMalformed: (fault) => faults.push(fault),
    onRefused: () => faults.push('refused'),
    onFault: (fault) => {
      faults.push(fault.message);
      socket.end();
    },
    onDone: () => {
      http2.sender.output.flush();
      socket.end();
    },
  });
  socket.setNoDelay();
  socket.on('data', (chunk: Buffer) => http2.feed(chunk));
  socket.on('drain', () => http2.drained());
  socket.on('close', () => http2.end());
  socket.on('error', () => socket.destroy());
}

function echo(http2: Http2Server, stream: Http2Stream, request: RequestFields): void {
  const { sender } = http2;
  const zeros = /^\/zeros\/(\d+)$/.exec(request.path);
  const kept = request.names.flatMap((name, i) => (name.startsWith('x-') ? [[name, request.values[i]!] as const] : []));
  sender.head(stream, 200, {
    names: ['x-method', 'x-path', 'content-type', ...kept.map(([name]) => name)],
    values: [request.method, request.path, 'application/octet-stream', ...kept.map(([, value]) => value)],
  });
  let waiting = 0;
  const end = (trailers: FieldLists | null): void => {
    if (zeros !== null) sender.content(stream, Buffer.alloc(Number(zeros[1])));
    sender.end(stream, trailers);
  };
  stream.handler = {
    onContent: (bytes) => {
      if (sender.content(stream, bytes)) http2.taken(stream, bytes.length);
      else waiting += bytes.length;
    },
    onEnd: end,
    onDrain: () => {
      http2.taken(stream, waiting);
      waiting = 0;
    },
    onClosed: () => {},
  };
  if (stream.isRemoteDone) end(null);
}
