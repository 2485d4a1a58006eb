// Clients of the mTLS door: TLS with whatever certificate the test gives them, CONNECT inside it, TLS inside that. What
// the door does with a client it does not want is seen as `closed`, with what was read before.
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { IssuedIdentity } from '../../src/stages/accept/tls/identity-ca.ts';
import { Wire } from './wire.ts';

export interface ShownIdentity {
  readonly certificate: string;
  readonly key: string;
}

export interface MtlsOptions extends ConnectionOptions {
  /** What the client trusts; the identity CA. */
  readonly trusted: string;
  readonly alpn?: string;
}

/** Resolves when the client thinks it is connected: with TLS 1.3 that is before the door has judged its certificate. */
export function dialMtls(port: number, shown: ShownIdentity | null, options: MtlsOptions): Promise<TLSSocket> {
  const { trusted, alpn = 'http/1.1', ...rest } = options;
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      servername: 'door.sallyport.internal',
      ca: trusted,
      ALPNProtocols: [alpn],
      ...(shown === null ? {} : { cert: shown.certificate, key: shown.key }),
      ...rest,
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

/** One absolute-form request on a connection of its own; what came back, `closed` when nothing did. */
export async function askPlainly(
  port: number,
  shown: ShownIdentity | null,
  options: MtlsOptions,
  fields: readonly string[] = [],
): Promise<string> {
  let socket: TLSSocket;
  try {
    socket = await dialMtls(port, shown, options);
  } catch {
    return 'closed';
  }
  const wire = new Wire(socket);
  const lines = ['GET http://plain.example/ HTTP/1.1', 'Host: plain.example', 'Connection: close', ...fields];
  wire.send(`${lines.join('\r\n')}\r\n\r\n`);
  const text = await wire.rest();
  socket.destroy();
  return text === '' ? 'closed' : text;
}

/** CONNECT on a connection that is open; the socket is then the tunnel. */
export async function connectInside(socket: TLSSocket, authority: string): Promise<TLSSocket> {
  const wire = new Wire(socket);
  wire.send(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const head = await wire.until('\r\n\r\n');
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head);
  wire.release();
  return socket;
}

/** TLS inside a tunnel, trusting `trusted` (PEM). */
export function tlsInside(
  socket: TLSSocket,
  servername: string,
  trusted: string,
  alpn = 'http/1.1',
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const tls = connectTls({ socket, servername, ca: trusted, ALPNProtocols: [alpn] });
    tls.once('error', reject);
    tls.once('secureConnect', () => {
      tls.off('error', reject);
      tls.on('error', () => {});
      resolve(tls);
    });
  });
}

export type RenewalAnswer = Partial<IssuedIdentity> & {
  readonly error?: string;
  readonly code?: string;
  readonly hint?: string;
};

/** One renewal; null: the door closed without a word. */
export async function renewIdentity(
  port: number,
  shown: ShownIdentity,
  trusted: string,
  line: string,
): Promise<RenewalAnswer | null> {
  const socket = await dialMtls(port, shown, { trusted, alpn: 'sallyport-identity/1' });
  const wire = new Wire(socket);
  wire.send(line);
  const text = await wire.rest();
  socket.destroy();
  return text === '' ? null : (JSON.parse(text) as RenewalAnswer);
}
