// A far side with every fault there is: one TLS server for all names under one domain, each name with a fault of its own
// until it is healed. Counts which connections are open, by name.
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, createServer, type TLSSocket } from 'node:tls';
import { endStream, type FramePeer, headersFrame, FramePeer as Peer } from './raw-http2.ts';
import type { TestCa } from './test-ca.ts';
import { Wire } from './wire.ts';

export interface FaultyRequest {
  readonly head: string;
  readonly wire: Wire;
  readonly socket: TLSSocket;
  /** The TCP connection below. */
  readonly bare: Socket;
}

/** What it does with the head of a request. */
export type H1Fault = (request: FaultyRequest) => void;
export type H2Fault = (stream: number, peer: FramePeer, bare: Socket) => void;

export interface Faults {
  readonly h1: Readonly<Record<string, H1Fault>>;
  readonly h2: Readonly<Record<string, H2Fault>>;
  /** Certificates of names that have one of their own. */
  readonly certificates: Readonly<Record<string, { readonly key: string; readonly cert: string }>>;
}

export interface FaultyUpstream {
  readonly address: string;
  /** Connections that are open to a name. */
  openTo(name: string): number;
  readonly open: number;
  /** From now on it answers well. */
  heal(): void;
  close(): Promise<void>;
}

export const domain = 'faulty.example';
const good = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';

/** `held`: how many requests to the name `crowd` must be there before any is answered. */
export async function startFaultyUpstream(ca: TestCa, faults: Faults, held: number): Promise<FaultyUpstream> {
  const open = new Map<Socket, string>();
  let isHealed = false;
  let crowd: (() => void)[] = [];

  const serveH1 = async (name: string, socket: TLSSocket, bare: Socket): Promise<void> => {
    const wire = new Wire(socket);
    for (;;) {
      const head = await wire.until('\r\n\r\n').catch(() => null);
      if (head === null && wire.ended === 'open') continue;
      if (head === null) return;
      const fault = faults.h1[name];
      if (fault === undefined || isHealed) wire.send(good);
      else fault({ head, wire, socket, bare });
    }
  };
  const serveH2 = (name: string, socket: TLSSocket, bare: Socket): void => {
    const peer = new Peer(socket, true, name === 'h2-no-window' ? 0 : undefined);
    peer.onFrame = ({ type, stream }) => {
      if (type !== 1) return;
      const answer = (): void => peer.send(headersFrame(stream, [[':status', '200']], endStream));
      const fault = faults.h2[name];
      if (name === 'h2-crowd') {
        crowd.push(answer);
        if (crowd.length === held) for (const each of crowd) each();
      } else if (fault === undefined || isHealed) answer();
      else fault(stream, peer, bare);
    };
  };
  const whole = ca.issue([`*.${domain}`]);
  const server = createServer({
    ...whole,
    ALPNCallback: ({ servername, protocols }) =>
      protocols.find((one) => one === (servername.startsWith('h2-') ? 'h2' : 'http/1.1')),
    SNICallback: (servername, done) =>
      done(null, createSecureContext(faults.certificates[nameIn(servername)] ?? whole)),
  });
  const bareOf = new Map<number | undefined, Socket>();
  server.on('connection', (socket) => {
    bareOf.set(socket.remotePort, socket);
    open.set(socket, '');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      bareOf.delete(socket.remotePort);
      open.delete(socket);
    });
  });
  server.on('secureConnection', (socket) => {
    const bare = bareOf.get(socket.remotePort)!;
    const name = nameIn(String(socket.servername));
    open.set(bare, name);
    socket.on('error', () => socket.destroy());
    if (socket.alpnProtocol === 'h2') serveH2(name, socket, bare);
    else void serveH1(name, socket, bare);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    openTo: (name) => [...open.values()].filter((one) => one === name).length,
    get open() {
      return open.size;
    },
    heal: () => {
      isHealed = true;
      crowd = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open.keys()) socket.destroy();
      }),
  };
}

function nameIn(servername: string): string {
  return servername.slice(0, -domain.length - 1);
}
