// Clients that reach a host through the door like every HTTPS client: CONNECT, then TLS that trusts the gateway's CA.
// For node:https and `ws` as an agent, for node:http2 as a session, for hand-written bytes as a bare socket.
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { Agent } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Wire } from './wire.ts';

/** Where the door is: a test gateway, or a private socket. */
export type Door = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export class TunnelRefused extends Error {
  readonly head: string;

  constructor(head: string) {
    super(`CONNECT was refused: ${head.split('\r\n', 1)[0]}`);
    this.head = head;
  }
}

/** A bare socket behind a granted CONNECT. */
export async function openTunnel(door: Door, authority: string, fields: readonly string[] = []): Promise<Socket> {
  const socket = 'socketPath' in door ? connectTcp(door.socketPath) : connectTcp(door.port, door.host);
  const wire = new Wire(socket);
  wire.send(
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`,
  );
  const head = await wire.until('\r\n\r\n');
  if (!head.startsWith('HTTP/1.1 200')) {
    const body = await wire.bytes(Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
    socket.destroy();
    throw new TunnelRefused(`${head}${body}`);
  }
  wire.release();
  return socket;
}

export interface TlsOptions {
  /** PEM file of the CA to trust. */
  readonly caPath: string;
  readonly alpn?: readonly string[];
  readonly fields?: readonly string[];
  readonly servername?: string;
}

export async function openTls(door: Door, authority: string, options: TlsOptions): Promise<TLSSocket> {
  const socket = await openTunnel(door, authority, options.fields);
  return new Promise((resolve, reject) => {
    const tls = connectTls({
      socket,
      servername: options.servername ?? authority.replace(/:\d+$/, ''),
      ca: readFileSync(options.caPath, 'utf8'),
      ALPNProtocols: [...(options.alpn ?? ['http/1.1'])],
    });
    tls.once('error', reject);
    tls.once('secureConnect', () => {
      tls.off('error', reject);
      resolve(tls);
    });
  });
}

/** For node:https and `ws`: every connection goes through the door. */
export class TunnelAgent extends Agent {
  readonly #open: (authority: string) => Promise<TLSSocket>;

  constructor(door: Door, caPath: string, fields: readonly string[] = []) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#open = (authority) => openTls(door, authority, { caPath, fields });
  }

  override createConnection(
    options: { host?: string | null; port?: string | number | null },
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#open(`${options.host}:${options.port ?? 443}`).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as never),
    );
    return undefined;
  }
}

export async function openHttp2(door: Door, host: string, options: TlsOptions): Promise<ClientHttp2Session> {
  const socket = await openTls(door, `${host}:443`, { ...options, alpn: ['h2'] });
  if (socket.alpnProtocol !== 'h2') throw new Error(`the door chose ${socket.alpnProtocol}, not h2`);
  return connectHttp2(`https://${host}`, { createConnection: () => socket });
}

export interface Http2Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders | null;
}

/** One whole exchange; rejects when the stream does not end well. */
export function askHttp2(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | null = null;
    stream.on('response', (fields) => {
      head = fields;
    });
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      if (stream.rstCode === 0) resolve({ headers: head, body: Buffer.concat(chunks), trailers });
      else reject(new Error(`stream closed with code ${stream.rstCode}`));
    });
    if (body !== undefined) stream.end(body);
  });
}
