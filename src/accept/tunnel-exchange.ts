// A connection whose bytes are not ours to read (`tunnel: true`): only its ClientHello was looked at. A refusal cannot
// be put into words inside somebody else's TLS, so it is a TLS alert; the words are in the journal.
import type { Socket } from 'node:net';
import type { BodyForm, BodyWriter, Exchange, Framing } from '../flow/exchange.ts';

/** fatal(2) access_denied(49) */
const accessDenied = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x31]);

export class TunnelExchange implements Exchange {
  readonly form: BodyForm = 'wire';
  readonly requestFraming: Framing = { kind: 'until-close' };
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  readonly #socket: Socket;
  #hello: Buffer | null;

  constructor(socket: Socket, hello: Buffer) {
    this.#socket = socket;
    this.#hello = hello;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.onAbandoned?.();
      this.onFinished?.();
    });
  }

  goRaw(to: BodyWriter): BodyWriter {
    this.answered = true;
    const socket = this.#socket;
    to.onDrain = () => socket.resume();
    const take = (chunk: Buffer): void => {
      this.bytesIn += chunk.length;
      if (!to.write(chunk)) socket.pause();
    };
    const hello = this.#hello;
    this.#hello = null;
    if (hello !== null) take(hello);
    socket.on('data', take);
    socket.on('end', () => to.end(null));
    socket.resume();
    const writer: BodyWriter = {
      onDrain: null,
      write: (chunk) => {
        this.bytesOut += chunk.length;
        return socket.write(chunk);
      },
      flush: () => {},
      end: () => socket.end(),
      fail: () => socket.destroy(),
    };
    socket.on('drain', () => writer.onDrain?.());
    return writer;
  }

  answer(): void {
    this.answered = true;
    this.#socket.end(accessDenied);
  }

  abort(): void {
    this.#socket.destroy();
  }

  asPayload(): Exchange {
    throw new Error('a tunnel has no body to look at');
  }

  sendBody(): void {
    throw new Error('a tunnel has no request body');
  }

  inform(): void {}

  respond(): BodyWriter {
    throw new Error('a tunnel has no answer of its own');
  }
}
