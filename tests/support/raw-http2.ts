// HTTP/2 frames written by hand, for what node:http2 refuses to send: a client inside the door, and a far side. Fields go
// as HPACK literals without compression; nothing is validated, that is the point.
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { TestCa } from './test-ca.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const data = 0;
const headers = 1;
export const rstStream = 3;
const settings = 4;
const goaway = 7;
const initialWindowSize = 4;
export const endStream = 1;
const endHeaders = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export type FieldPairs = readonly (readonly [string, string])[];

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length >= 127) throw new Error('only short texts here');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

export function hpack(fields: FieldPairs): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), hpackText(name), hpackText(value)]));
}

export function headersFrame(stream: number, fields: FieldPairs, flags: number): Buffer {
  return frame(headers, flags | endHeaders, stream, hpack(fields));
}

export function dataFrame(stream: number, payload: string, flags = 0): Buffer {
  return frame(data, flags, stream, Buffer.from(payload, 'latin1'));
}

export function resetFrame(stream: number, code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(rstStream, 0, stream, payload);
}

export function requestFields(host: string, method: string, path: string): FieldPairs {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', host],
    [':path', path],
  ];
}

/** One end of a connection, frame by frame. */
export class FramePeer {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  closed = false;
  onFrame: ((frame: Frame) => void) | null = null;
  #unread: Buffer = Buffer.alloc(0);

  /** `server`: the other side begins with the preface. `windowBytes`: how much it may send on a stream. */
  constructor(socket: Socket, server: boolean, windowBytes = 65_535) {
    this.socket = socket;
    let skip = server ? preface.length : 0;
    socket.on('data', (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      if (this.#unread.length < skip) return;
      this.#unread = this.#unread.subarray(skip);
      skip = 0;
      this.#read();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.closed = true;
    });
    if (!server) socket.write(preface);
    const window = Buffer.alloc(6);
    window.writeUInt16BE(initialWindowSize, 0);
    window.writeUInt32BE(windowBytes, 2);
    socket.write(frame(settings, 0, 0, window));
  }

  send(...parts: Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(parts));
  }

  /** How a stream of the other side ended: its status if there was a head, the code of its reset if there was one. */
  outcome(stream: number): { readonly answered: boolean; readonly reset: number | null; readonly goaway: boolean } {
    const own = this.frames.filter((one) => one.stream === stream);
    const reset = own.find(({ type }) => type === rstStream);
    return {
      answered: own.some(({ type }) => type === headers),
      reset: reset === undefined ? null : reset.payload.readUInt32BE(0),
      goaway: this.frames.some(({ type }) => type === goaway),
    };
  }

  #read(): void {
    while (this.#unread.length >= 9) {
      const length = this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < 9 + length) return;
      const read: Frame = {
        type: this.#unread.readUInt8(3),
        flags: this.#unread.readUInt8(4),
        stream: this.#unread.readUInt32BE(5) & 0x7fffffff,
        payload: this.#unread.subarray(9, 9 + length),
      };
      this.#unread = this.#unread.subarray(9 + length);
      if (read.type === settings && (read.flags & 1) === 0) this.send(frame(settings, 1, 0, Buffer.alloc(0)));
      this.frames.push(read);
      this.onFrame?.(read);
    }
  }
}

/** The error code of the last GOAWAY that came; null: none did. */
export function goawayCode({ frames }: FramePeer): number | null {
  return frames.findLast(({ type }) => type === goaway)?.payload.readUInt32BE(4) ?? null;
}

export interface FrameUpstream {
  readonly address: string;
  /** Every frame that came, over all connections. */
  readonly frames: Frame[];
  answerWith(answer: (stream: number, peer: FramePeer) => void): void;
  close(): Promise<void>;
}

/** A far side that speaks HTTP/2 by hand: answers the head of every request as the test says. */
export async function startFrameUpstream(
  ca: TestCa,
  names: readonly string[],
  windowBytes?: number,
): Promise<FrameUpstream> {
  const sockets = new Set<TLSSocket>();
  const frames: Frame[] = [];
  let answer: (stream: number, peer: FramePeer) => void = () => {};
  const server = createServer({ ...ca.issue(names), ALPNProtocols: ['h2'] }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    const peer = new FramePeer(socket, true, windowBytes);
    peer.onFrame = (read) => {
      frames.push(read);
      if (read.type === headers) answer(read.stream, peer);
    };
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    frames,
    answerWith: (next) => {
      answer = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
