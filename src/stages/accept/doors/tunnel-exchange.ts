// A connection whose bytes are not ours to read: of a tunnel only the ClientHello was looked at, of a plain connection nothing.
// A refusal cannot be put into words inside somebody else's protocol: in TLS it is an alert, else the end of the connection;
// the words are in the journal. A client that neither reads nor goes away is ended here.
import type { Socket } from 'node:net';
import type { Perishable } from '../../../kit/sweeper.ts';
import type { BodyForm, BodyWriter, Exchange, Framing } from '../../../path/exchange/exchange.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { ClientIntake, waitingBytes } from '../http/client-intake.ts';
import type { ConnectionSettings } from '../http/connection-settings.ts';
import { nothingTaken } from '../request-faults.ts';

/** fatal(2) access_denied(49) */
const accessDenied = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x31]);
/** What we end, the client has this long to end too. */
const lingerMs = 2_000;

export class TunnelExchange implements Exchange, Perishable {
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly form: BodyForm = 'wire';
  readonly requestFraming: Framing = { kind: 'until-close' };
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  /** Why we ended it; null: we did not. */
  cut: Refusal | null = null;
  onFinished: (() => void) | null = null;
  readonly #socket: Socket;
  readonly #transport: Socket;
  readonly #settings: ConnectionSettings;
  readonly #intake: ClientIntake;
  readonly #refusal: Buffer | null;
  #hello: Buffer | null;
  #onAbandoned: (() => void) | null = null;
  #abandoned = false;

  /** `refusal`: what a client that is refused gets to read; null: nothing. */
  constructor(
    socket: Socket,
    hello: Buffer,
    settings: ConnectionSettings,
    transport: Socket = socket,
    refusal: Buffer | null = accessDenied,
  ) {
    this.#socket = socket;
    this.#refusal = refusal;
    this.#transport = transport;
    this.#settings = settings;
    this.#intake = new ClientIntake(transport);
    this.#hello = hello;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      settings.sweeper.leave(this);
      this.#abandoned = true;
      this.#onAbandoned?.();
      this.onFinished?.();
    });
  }

  get onAbandoned(): (() => void) | null {
    return this.#onAbandoned;
  }

  /** Who asks late hears it at once. */
  set onAbandoned(act: (() => void) | null) {
    this.#onAbandoned = act;
    if (this.#abandoned) act?.();
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
        const more = socket.write(chunk);
        if (!more) this.#awaitIntake();
        return more;
      },
      flush: () => {},
      end: () => this.#end(),
      fail: () => socket.destroy(),
    };
    socket.on('drain', () => writer.onDrain?.());
    return writer;
  }

  answer(): void {
    this.answered = true;
    if (this.#refusal === null) {
      this.#socket.resetAndDestroy();
      return;
    }
    this.#socket.write(this.#refusal);
    this.#end();
    // Nobody reads it any more, and unread bytes would keep the end of the client from being seen.
    this.#socket.resume();
  }

  abort(): void {
    this.#socket.destroy();
  }

  expire(): void {
    const { sweeper, idleTimeoutMs } = this.#settings;
    if (waitingBytes(this.#socket, this.#transport) > 0) {
      if (this.#intake.moved()) {
        this.deadlineMs = sweeper.deadlineIn(idleTimeoutMs);
        return;
      }
      this.cut ??= nothingTaken(idleTimeoutMs);
      this.#socket.destroy();
    } else if (this.#socket.writableEnded) this.#socket.destroy();
    else this.deadlineMs = Number.POSITIVE_INFINITY;
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

  /** The client must take what is before it, and then end its side too. */
  #end(): void {
    this.#awaitIntake();
    this.#socket.end(() => {
      this.deadlineMs = this.#settings.sweeper.nowMs + lingerMs;
    });
  }

  #awaitIntake(): void {
    const { sweeper, idleTimeoutMs } = this.#settings;
    this.#intake.start();
    this.deadlineMs = sweeper.deadlineIn(idleTimeoutMs);
    // Only now: most tunnels are never held up, and a socket that is closed has nothing to wait for.
    if (!this.#socket.destroyed) sweeper.join(this);
  }
}
