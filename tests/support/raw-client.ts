// A client that writes its bytes itself and keeps the raw answer: plain to the door, or inside a CONNECT and TLS with
// whatever name it likes. Reads until the door closes; a door that does not close is seen too.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { openTunnel, TunnelRefused } from './tunnel-client.ts';

export interface RawAnswer {
  /** Everything that came back, as Latin-1. */
  readonly text: string;
  /** The status of each answer in it, in order. */
  readonly statuses: readonly number[];
  /** Code of the last refusal in it; null: none was refused. */
  readonly code: string | null;
  /** The door ended the connection. */
  readonly closed: boolean;
}

export interface RawOptions {
  /** Wait no longer than this for the door to close; default 5 s. */
  readonly waitMs?: number;
  /** Send in pieces of so many bytes, one after the other. */
  readonly pieceBytes?: number;
}

export interface TunnelOptions extends RawOptions {
  /** Authority of the CONNECT; default `host:443`. */
  readonly connect?: string;
  /** Name in the handshake; default the host, null: none. */
  readonly sni?: string | null;
  /** Fields of the CONNECT. */
  readonly fields?: readonly string[];
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Bytes straight to the door. */
export function sendPlain(door: Place, bytes: string | Buffer, options: RawOptions = {}): Promise<RawAnswer> {
  return converse(connectTcp(door.port, door.host), bytes, options);
}

/** Bytes inside TLS, inside a CONNECT. A CONNECT that is refused is the answer. */
export async function sendTunnelled(
  door: Place,
  host: string,
  bytes: string | Buffer,
  options: TunnelOptions = {},
): Promise<RawAnswer> {
  let bare: Socket;
  try {
    bare = await openTunnel(door, options.connect ?? `${host}:443`, options.fields);
  } catch (error) {
    if (error instanceof TunnelRefused) return readAnswer(error.head, true);
    throw error;
  }
  const sni = options.sni === undefined ? host : options.sni;
  // What the certificate says is not what these tests are about.
  const tls = connectTls({
    socket: bare,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
    ...(sni === null ? {} : { servername: sni }),
  });
  return converse(tls, bytes, options);
}

/** Bytes inside a CONNECT, with no TLS of ours. */
export async function sendBare(
  door: Place,
  authority: string,
  bytes: Buffer | string,
  options: RawOptions = {},
): Promise<RawAnswer> {
  return converse(await openTunnel(door, authority), bytes, options);
}

function converse(socket: Socket, bytes: string | Buffer, options: RawOptions): Promise<RawAnswer> {
  const all = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  return new Promise((resolve) => {
    let text = '';
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(readAnswer(text, closed));
    };
    const timer = setTimeout(() => finish(false), options.waitMs ?? 5_000);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('error', () => finish(true));
    socket.resume();
    void writeInPieces(socket, all, options.pieceBytes ?? all.length);
  });
}

async function writeInPieces(socket: Socket, all: Buffer, pieceBytes: number): Promise<void> {
  for (let at = 0; at < all.length && !socket.destroyed; at += pieceBytes) {
    socket.write(all.subarray(at, at + pieceBytes));
    if (pieceBytes < all.length) await new Promise((resolve) => setImmediate(resolve));
  }
}

function readAnswer(text: string, closed: boolean): RawAnswer {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  const code = [...text.matchAll(/^x-sallyport-refused: *(\S+)/gim)].at(-1)?.[1] ?? null;
  return { text, statuses, code, closed };
}
