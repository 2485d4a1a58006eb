// One client connection that speaks HTTP/1.1: reads request heads with the strict codec, one request at a time,
// pipelined ones wait. What cannot be read is handed on as a fault, answered and closed, never guessed at.
import type { Socket } from 'node:net';
import { noteRead } from '../../../kit/process/young-bytes.ts';
import type { Perishable } from '../../../kit/sweeper.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { RawRequest } from '../../../path/flow.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';
import { parseRequestHead, type RequestHead } from '../../../protocols/http1/request-head.ts';
import { faultInHead, noBodyComes, nothingTaken, slowHead, unreadable } from '../request-faults.ts';
import { ClientIntake, waitingBytes } from './client-intake.ts';
import type { ConnectionOrigin, ConnectionSettings } from './connection-settings.ts';
import type { ExchangeHost } from './exchange-host.ts';
import { H1Exchange } from './h1-exchange.ts';

export type OnH1Request = (request: RawRequest, exchange: H1Exchange) => void;

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
  readonly #intake: ClientIntake;
  #exchange: H1Exchange | null = null;
  /** Bytes that are no part of the request under way: a head that is not whole, or the next request, pipelined. */
  readonly #waiting = new GatheredBytes();
  #triedBytes = 0;
  #requests = 0;
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
    this.#intake = new ClientIntake(transport);
    this.deadlineMs = performance.now() + settings.clientHeadTimeoutMs;
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
    return this.#waiting.take();
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
    if (this.#exchange?.awaitsBody === true) this.awaitBytes();
    this.socket.resume();
  }

  /** It is the client's turn: idle_timeout_ms from here, or from the next bytes that come. */
  awaitBytes(): void {
    this.deadlineMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
  }

  /** More was written than the client takes: from here on something of it must move. */
  awaitIntake(): void {
    this.awaitBytes();
    this.#intake.start();
  }

  /** Bytes past the end of the current request: the next one, pipelined. */
  keepWaiting(bytes: Buffer): void {
    this.#waiting.add(bytes);
    if (this.#waiting.length > maxWaitingBytes) this.pause();
  }

  takeWaiting(): Buffer | null {
    return this.#waiting.take();
  }

  /** The exchange is over and the connection can serve another. */
  next(): void {
    this.#exchange = null;
    this.deadlineMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
    if (this.#closing) {
      this.socket.end();
      return;
    }
    this.resume();
    this.#goOn();
  }

  #goOn(): void {
    // Guards: a client that asks on and on and reads no answer. Its next request waits until it has taken the last one.
    if (this.#waiting.length === 0 || this.socket.writableNeedDrain) return;
    // A turn of its own: a thousand pipelined requests must not become a thousand stack frames.
    process.nextTick(() => this.#readWaiting());
  }

  /** Ends after an answer while the client may still be sending: reads and drops for a moment, so that no reset eats it. */
  endLingering(): void {
    this.#closing = true;
    this.#waiting.take();
    // From here on bytes are dropped; given to the exchange they would be kept, and reading would stop when it is full.
    this.#exchange = null;
    // A slow reader may still have the tail of its answer before it: the moment begins when all of it has left.
    this.deadlineMs = this.settings.sweeper.deadlineIn(this.settings.idleTimeoutMs);
    this.socket.end(() => {
      this.deadlineMs = this.settings.sweeper.nowMs + lingerMs;
    });
    this.resume();
  }

  expire(): void {
    if (this.#exchange !== null) this.#expireExchange(this.#exchange);
    // A slow reader may take the tail of an answer as long as it takes some of it.
    else if (waitingBytes(this.socket, this.#transport) > 0 && this.#intake.moved()) this.awaitBytes();
    else if (this.#waiting.length > 0 && !this.#closing) {
      this.#fault(slowHead(this.settings.clientHeadTimeoutMs));
      this.deadlineMs = this.settings.sweeper.nowMs + lingerMs;
    } else {
      this.settings.sweeper.leave(this);
      this.socket.destroy();
    }
  }

  #expireExchange(exchange: H1Exchange): void {
    const { idleTimeoutMs } = this.settings;
    if (this.socket.writableNeedDrain) {
      if (this.#intake.moved()) this.awaitBytes();
      else exchange.cutOff(nothingTaken(idleTimeoutMs));
    } else if (exchange.awaitsBody) {
      // Paused: it is the far side that takes nothing, and the forward stage keeps that time.
      if (this.#paused) this.awaitBytes();
      else exchange.breakOff(noBodyComes(idleTimeoutMs));
    } else this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  readonly #onData = (chunk: Buffer): void => {
    noteRead(chunk.length);
    if (this.#exchange !== null) {
      this.#exchange.onBytes(chunk);
      if (this.#exchange?.awaitsBody === true) this.awaitBytes();
      return;
    }
    if (this.#closing) return;
    if (this.socket.writableNeedDrain) {
      this.keepWaiting(chunk);
      return;
    }
    if (this.#waiting.length === 0) {
      this.#readHead(chunk);
      return;
    }
    this.#waiting.add(chunk);
    // A head that drips in byte by byte is not parsed from its start for every byte.
    if (!chunk.includes(lineFeed) && this.#waiting.length - this.#triedBytes < 1024) return;
    this.#readHead(this.#waiting.view());
  };

  #readWaiting(): void {
    if (this.#exchange !== null || this.#waiting.length === 0 || this.socket.destroyed) return;
    this.#readHead(this.#waiting.take()!);
  }

  /** `bytes`: all that waits, or the first that came. */
  #readHead(bytes: Buffer): void {
    let head: RequestHead | null;
    try {
      head = parseRequestHead(bytes, 0, this.settings.headBytes);
    } catch (error) {
      this.#fault(error);
      return;
    }
    if (head === null) {
      this.#keepHead(bytes);
      return;
    }
    this.#waiting.take();
    // From here on the forward stage keeps the time: it sees both directions. Here only what the client alone holds up.
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#requests++;
    const rest = head.headEnd === bytes.length ? null : bytes.subarray(head.headEnd);
    this.#serve(head, rest);
  }

  #keepHead(bytes: Buffer): void {
    this.#triedBytes = bytes.length;
    if (this.#waiting.length > 0) return;
    this.#waiting.add(bytes);
    // The clock itself: the sweeper's may be half a second old, and this may be a short time.
    if (this.#requests > 0) this.deadlineMs = performance.now() + this.settings.clientHeadTimeoutMs;
  }

  #serve(head: RequestHead, rest: Buffer | null): void {
    const exchange = new H1Exchange(this, head, rest);
    this.#exchange = exchange;
    this.#onRequest(rawRequest(this.#origin, head, faultInHead(head, this.settings.requestBodyBytes)), exchange);
  }

  /** Not a request: still an arrival, so that it is answered, counted and written down like one. */
  #fault(error: unknown): void {
    this.#waiting.take();
    const exchange = H1Exchange.forFault(this);
    this.#exchange = exchange;
    this.#onRequest(rawRequest(this.#origin, null, unreadable(error)), exchange);
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

/** `head` null: there is none that could be read, and `fault` says why. */
function rawRequest(origin: ConnectionOrigin, head: RequestHead | null, fault: Refusal | null): RawRequest {
  const { scheme, connect, sni, destination } = origin;
  return {
    protocol: 'http/1.1',
    scheme,
    method: head?.method ?? '',
    target: head?.target ?? '',
    authority: null,
    headers: head === null ? new HeaderList() : new HeaderList(head.names, head.keys, head.values),
    connect,
    sni,
    kind: head?.method === 'CONNECT' && isProxy(origin) ? 'connect' : 'http',
    hiddenName: false,
    destination,
    fault,
  };
}

/** Behind a CONNECT, or where a host itself was meant to be reached, nobody can ask for a tunnel. */
function isProxy({ connect, destination }: ConnectionOrigin): boolean {
  return connect === null && destination === null;
}
