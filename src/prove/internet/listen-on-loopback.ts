// Opens a server of a pretend internet on a free port of loopback and knows its connections, so that closing it waits for
// none of them. Tests use it too. Never listens on any other address.
import type { AddressInfo, Server, Socket } from 'node:net';

export interface LoopbackServer {
  readonly port: number;
  /** `127.0.0.1:PORT`, for `upstream.resolve`. */
  readonly address: string;
  close(): Promise<void>;
}

/** `server`: of TCP, TLS, HTTP or HTTP/2. */
export async function listenOnLoopback(server: Server): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
