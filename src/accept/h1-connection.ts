// One client connection that speaks HTTP/1.1: reads request heads with the strict codec, one request at a time,
// pipelined ones wait. What cannot be read is handed on as a fault, answered and closed, never guessed at.
import type { Socket } from 'node:net';
import type { RawRequest } from '../flow/flow.ts';
import { HeaderList } from '../flow/header-list.ts';
import { Refusal } from '../flow/refusal.ts';
import { parseRequestHead, type RequestHead } from '../http1/request-head.ts';
import type { Perishable, Sweeper } from '../kit/sweeper.ts';
import { type ExchangeHost, H1Exchange } from './h1-exchange.ts';
import { faultInHead, unreadable } from './request-faults.ts';

/** What is known of every request on a connection before it is read. */
export interface ConnectionOrigin {
  readonly scheme: 'https' | 'http';
  readonly connect: string | null;
  readonly sni: string | null;
  /** Where it wanted to go, `address:port`; null where it was spoken to as a proxy. */
  readonly destination: string | null;
}

export interface ConnectionSettings {
  readonly sweeper: Sweeper;
  readonly headBytes: number;
  readonly requestBodyBytes: number;
  /** Lower-case name of a field in which a credential goes out: it must not come late, past what judged the head. */
  readonly carriesCredential: (key: string) => boolean;
  readonly idleTimeoutMs: number;
}

export type OnH1Request = (request: RawRequest, exchange: H1Exchange) => void;

/** A head must be whole this long after its first byte: slow-loris. */
const headTimeoutMs = 30_000;
const lingerMs = 2_000;
const maxWaitingBytes = 256 * 1024;
const lineFeed = 0x0a;

export class H1Connection implements Perishable, ExchangeHost {
  deadlineMs: number;
  readonly socket: Socket;
  readonly maxBodyBytes: number;
  readonly carriesCredential: (key: string) => boolean;
  readonly settings: ConnectionSettings;
  readonly #origin: ConnectionOrigin;
  readonly #onRequest: OnH1Request;
  /** The socket below the TLS. */
  readonly #transport: Socket;
  #exchange: H1Exchange | null = null;
  #waiting: Buffer | null = null;
  #triedBytes = 0;
  #paused = false;
  #closing = false;

  constructor(
    socket: Socket,
    origin: ConnectionOrigin,
    settings: ConnectionSettings,
    onRequest: OnH1Request,
    transport: Socket = socket,
  ) {
    this.socket = socket;
    this.#transport = transport;
    this.settings = settings;
    this.maxBodyBytes = settings.requestBodyBytes;
    this.carriesCredential = settings.carriesCredential;
    this.#origin = origin;
    this.#onRequest = onRequest;
    this.deadlineMs = settings.sweeper.nowMs + settings.idleTimeoutMs;
    settings.sweeper.join(this);
    socket.on('data', this.#onData);
    socket.on('drain', this.#onDrain);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  /** Hands the socket over (CONNECT): this object lets go of it. Bytes that were read too far are returned. */
  release(): Buffer | null {
    this.settings.sweeper.leave(this);
    this.socket.off('data', this.#onData).off('drain', this.#onDrain).off('close', this.#onClose);
    this.socket.pause();
    this.#exchange = null;
    const rest = this.#waiting;
    this.#waiting = null;
    return rest;
  }

  /** Ends the connection after the answer under way; at once when there is none. */
  close(): void {
    if (this.#exchange === null) this.socket.end();
    else this.#closing = true;
  }

  reset(): void {
    // A Unix socket has no reset; closing it without the TLS goodbye is the nearest thing.
    if (this.#transport.remotePort === undefined) this.#transport.destroy();
    else this.#transport.resetAndDestroy();
  }

  get closing(): boolean {
    return this.#closing;
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.socket.resume();
  }

  /** Bytes past the end of the current request: the next one, pipelined. */
  keepWaiting(bytes: Buffer): void {
    this.#waiting = this.#waiting === null ? bytes : Buffer.concat([this.#waiting, bytes]);
    if (this.#waiting.length > maxWaitingBytes) this.pause();
  }

  takeWaiting(): Buffer | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    return waiting;
  }

  /** The exchange is over and the connection can serve another. */
  next(): void {
    this.#exchange = null;
    this.deadlineMs = this.settings.sweeper.nowMs + this.settings.idleTimeoutMs;
    if (this.#closing) {
      this.socket.end();
      return;
    }
    this.resume();
    this.#goOn();
  }

  #goOn(): void {
    // Guards: a client that asks on and on and reads no answer. Its next request waits until it has taken the last one.
    if (this.#waiting === null || this.socket.writableNeedDrain) return;
    // A turn of its own: a thousand pipelined requests must not become a thousand stack frames.
    process.nextTick(() => this.#readWaiting());
  }

  /** Ends after an answer while the client may still be sending: reads and drops for a moment, so that no reset eats it. */
  endLingering(): void {
    this.#closing = true;
    this.#waiting = null;
    // From here on bytes are dropped; given to the exchange they would be kept, and reading would stop when it is full.
    this.#exchange = null;
    // A slow reader may still have the tail of its answer before it: the moment begins when all of it has left.
    this.deadlineMs = this.settings.sweeper.nowMs + this.settings.idleTimeoutMs;
    this.socket.end(() => {
      this.deadlineMs = this.settings.sweeper.nowMs + lingerMs;
    });
    this.resume();
  }

  expire(): void {
    this.settings.sweeper.leave(this);
    if (this.#exchange === null && this.#waiting !== null && !this.#closing) {
      this.#fault(new Refusal('client.timeout', 'the request head did not arrive in time'));
      this.deadlineMs = this.settings.sweeper.nowMs + lingerMs;
      this.settings.sweeper.join(this);
      return;
    }
    this.socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#exchange !== null) {
      this.#exchange.onBytes(chunk);
      return;
    }
    if (this.#closing) return;
    if (this.socket.writableNeedDrain) {
      this.keepWaiting(chunk);
      return;
    }
    if (this.#waiting === null) {
      this.deadlineMs = this.settings.sweeper.nowMs + headTimeoutMs;
      this.#readHead(chunk);
      return;
    }
    const joined = Buffer.concat([this.#waiting, chunk]);
    this.#waiting = joined;
    // A head that drips in byte by byte is not parsed from its start for every byte.
    if (!chunk.includes(lineFeed) && joined.length - this.#triedBytes < 1024) return;
    this.#readHead(joined);
  };

  #readWaiting(): void {
    if (this.#exchange !== null || this.#waiting === null || this.socket.destroyed) return;
    this.deadlineMs = this.settings.sweeper.nowMs + headTimeoutMs;
    this.#readHead(this.#waiting);
  }

  #readHead(bytes: Buffer): void {
    let head: RequestHead | null;
    try {
      head = parseRequestHead(bytes, 0, this.settings.headBytes);
    } catch (error) {
      this.#fault(error);
      return;
    }
    if (head === null) {
      this.#waiting = bytes;
      this.#triedBytes = bytes.length;
      return;
    }
    this.#waiting = null;
    // From here on the forward stage keeps the time: it sees both directions.
    this.deadlineMs = Number.POSITIVE_INFINITY;
    const rest = head.headEnd === bytes.length ? null : bytes.subarray(head.headEnd);
    this.#serve(head, rest);
  }

  #serve(head: RequestHead, rest: Buffer | null): void {
    const exchange = new H1Exchange(this, head, rest);
    this.#exchange = exchange;
    this.#onRequest(
      {
        protocol: 'http/1.1',
        scheme: this.#origin.scheme,
        method: head.method,
        target: head.target,
        authority: null,
        headers: new HeaderList(head.names, head.keys, head.values),
        connect: this.#origin.connect,
        sni: this.#origin.sni,
        kind: head.method === 'CONNECT' && isProxy(this.#origin) ? 'connect' : 'http',
        hiddenName: false,
        destination: this.#origin.destination,
        fault: faultInHead(head, this.settings.requestBodyBytes),
      },
      exchange,
    );
  }

  /** Not a request: still an arrival, so that it is answered, counted and written down like one. */
  #fault(error: unknown): void {
    this.#waiting = null;
    const exchange = H1Exchange.forFault(this);
    this.#exchange = exchange;
    this.#onRequest(
      {
        protocol: 'http/1.1',
        scheme: this.#origin.scheme,
        method: '',
        target: '',
        authority: null,
        headers: new HeaderList(),
        connect: this.#origin.connect,
        sni: this.#origin.sni,
        kind: 'http',
        hiddenName: false,
        destination: this.#origin.destination,
        fault: unreadable(error),
      },
      exchange,
    );
  }

  readonly #onDrain = (): void => {
    if (this.#exchange !== null) {
      this.#exchange.onSocketDrain();
      return;
    }
    this.resume();
    this.#goOn();
  };

  readonly #onClose = (): void => {
    this.settings.sweeper.leave(this);
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.onSocketClosed();
  };

  readonly #onError = (): void => {
    this.socket.destroy();
  };
}

/** Behind a CONNECT, or where a host itself was meant to be reached, nobody can ask for a tunnel. */
function isProxy({ connect, destination }: ConnectionOrigin): boolean {
  return connect === null && destination === null;
}
