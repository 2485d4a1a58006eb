// A far side whose bytes the test writes itself: a real TLS (or plain) server on loopback that hands every connection
// to the test. For answers no well-behaved server would give, and for counting connections.
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TestCa } from './test-ca.ts';
import { Wire } from './wire.ts';

export interface RawUpstream {
  readonly port: number;
  readonly address: string;
  /** How many connections have come so far. */
  readonly connections: number;
  close(): Promise<void>;
}

export interface FarConnection {
  readonly wire: Wire;
  readonly socket: Socket;
  /** 1 for the first connection. */
  readonly number: number;
  /** Breaks the connection off with a TCP reset. */
  reset(): void;
}

export type ServeConnection = (connection: FarConnection) => Promise<void> | void;

export interface RawUpstreamOptions {
  /** Null: plain TCP. */
  readonly tls: { readonly ca: TestCa; readonly names: readonly string[]; readonly alpn?: readonly string[] } | null;
  readonly serve: ServeConnection;
  /** For one that comes back where it was (a keptPort); else the system chooses. */
  readonly port?: number;
}

export async function startRawUpstream({ tls, serve, port: asked = 0 }: RawUpstreamOptions): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  /** The TCP socket below each TLS one, by the port of its peer. */
  const bare = new Map<number | undefined, Socket>();
  let connections = 0;
  const accept = (socket: Socket): void => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    // The test looks at the client's side; a script that is cut off while it waits has nobody to tell.
    const reset = (): void => {
      (bare.get(socket.remotePort) ?? socket).resetAndDestroy();
    };
    Promise.resolve(serve({ wire: new Wire(socket), socket, number: connections, reset })).catch(() =>
      socket.destroy(),
    );
  };
  const server: Server =
    tls === null
      ? createPlainServer(accept)
      : createTlsServer({ ...tls.ca.issue(tls.names), ALPNProtocols: [...(tls.alpn ?? ['http/1.1'])] }, accept);
  server.on('connection', (socket) => {
    bare.set(socket.remotePort, socket);
    socket.on('close', () => bare.delete(socket.remotePort));
  });
  await new Promise<void>((resolve) => server.listen(asked, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
