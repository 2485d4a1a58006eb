// A plain TCP service on loopback that greets whoever comes and sends back what it is sent: for connections that are no HTTP.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterThisFile } from './after-this-file.ts';

export interface EchoServer {
  readonly port: number;
  /** How many have come. */
  readonly accepted: number;
  readonly open: ReadonlySet<Socket>;
}

export async function startEchoServer(host = '127.0.0.1', port = 0): Promise<EchoServer> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted++;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.write(`hello from ${server.address() === null ? '' : (server.address() as AddressInfo).port}\n`);
    socket.pipe(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  afterThisFile(async () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    open,
  };
}
