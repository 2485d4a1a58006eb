// The gateway's mTLS door as the shim sees it, made by hand so that it can misbehave: answers what the test says, by either
// protocol, and counts who came.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import type { PretendIdentities } from './pretend-identities.ts';

export interface DoorOptions extends TlsOptions {
  /** What a client of the proxy protocol gets. Default: 200 with the name in its certificate. */
  readonly onProxy?: (socket: TLSSocket) => void;
  /** The answer to a public key. Default: a certificate for it. */
  readonly onRenewal?: (publicKey: string) => object | string;
}

export interface PretendDoor {
  readonly port: number;
  readonly endpoint: { readonly host: string; readonly port: number };
  /** The certificates that came in, by protocol. */
  readonly seen: { readonly protocol: string; readonly name: string; readonly serial: string }[];
  close(): Promise<void>;
}

export async function openPretendDoor(identities: PretendIdentities, options: DoorOptions = {}): Promise<PretendDoor> {
  const { onProxy = greet, onRenewal, ...tls } = options;
  const seen: PretendDoor['seen'] = [];
  const open = new Set<Socket>();
  const server = createServer(
    {
      ...identities.door(),
      ca: identities.ca,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
      ALPNProtocols: ['http/1.1', 'sallyport-identity/1'],
      allowHalfOpen: true,
      ...tls,
    },
    (socket) => {
      socket.on('error', () => socket.destroy());
      const shown = socket.getPeerX509Certificate();
      const protocol = String(socket.alpnProtocol);
      seen.push({ protocol, name: shown?.subjectAltName ?? '', serial: shown?.serialNumber ?? '' });
      if (protocol !== 'sallyport-identity/1') return onProxy(socket);
      let line = '';
      socket.on('data', (chunk: Buffer) => {
        line += chunk;
        if (!line.endsWith('\n')) return;
        const { public_key } = JSON.parse(line) as { public_key: string };
        const answer = onRenewal?.(public_key) ?? { certificate: identities.certify(public_key), expires_at: 'soon' };
        socket.end(typeof answer === 'string' ? answer : `${JSON.stringify(answer)}\n`);
      });
    },
  );
  // Also those that never came as far as TLS.
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    endpoint: { host: '127.0.0.1', port },
    seen,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function greet(socket: TLSSocket): void {
  const name = socket.getPeerX509Certificate()?.subjectAltName ?? '';
  socket.on('data', () => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name}`);
  });
  socket.on('end', () => socket.end());
}
