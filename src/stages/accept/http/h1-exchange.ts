// One HTTP/1.1 request and its answer on a client connection. Bodies pass in wire form: checked, not copied. The
// head of an answer waits for its first body bytes so that both leave in one write.
import type { Socket } from 'node:net';
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';
import { BodyReader } from '../../../protocols/http1/body-reader.ts';
import type { RequestHead } from '../../../protocols/http1/request-head.ts';
import { encodeMessage, renderHead } from '../../../protocols/http1/write-head.ts';
import { bodyTooLarge, fieldTooLate, unreadable } from '../request-faults.ts';
import { AnswerWriter } from './answer-writer.ts';
import type { ExchangeHost } from './exchange-host.ts';
import { HeldEnd } from './held-end.ts';
import { PayloadExchange } from './payload-exchange.ts';

const noBody: Framing = { kind: 'none' };
const maxHeldBytes = 256 * 1024;

export class H1Exchange implements Exchange {
  readonly form: BodyForm = 'wire';
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  /** Why we ended it; null: we did not. */
  cut: Refusal | null = null;
  onFinished: (() => void) | null = null;
  readonly #connection: ExchangeHost;
  readonly #keepAlive: boolean;
  readonly #expectsContinue: boolean;
  readonly #reader: BodyReader | null;
  #requestDone: boolean;
  #readable: boolean;
  readonly #held = new GatheredBytes();
  readonly #heldEnd = new HeldEnd();
  #to: BodyWriter | null = null;
  #raw = false;
  #writer: AnswerWriter | null = null;
  #untilClose = false;
  #finished = false;
  #onAbandoned: (() => void) | null = null;

  constructor(connection: ExchangeHost, head: RequestHead | null, rest: Buffer | null) {
    this.#connection = connection;
    this.requestFraming = head?.framing ?? noBody;
    this.#keepAlive = head?.keepAlive ?? false;
    this.#expectsContinue = head?.expectsContinue ?? false;
    this.#readable = head !== null;
    this.#requestDone = isEmpty(this.requestFraming);
    this.#reader = this.#requestDone ? null : new BodyReader(this.requestFraming);
    if (rest !== null) this.onBytes(rest);
  }

  /** An exchange for bytes that were no request: it can only be answered, and the connection ends with it. */
  static forFault(connection: ExchangeHost): H1Exchange {
    return new H1Exchange(connection, null, null);
  }

  asPayload(): Exchange {
    return new PayloadExchange(this);
  }

  get onAbandoned(): (() => void) | null {
    return this.#onAbandoned;
  }

  /** A listener that is added after the end is called at once: no work may start for a client that is gone or has its answer. */
  set onAbandoned(act: (() => void) | null) {
    this.#onAbandoned = act;
    if (this.#finished) act?.();
  }

  /** True while the far side wants more of the body and has not answered: it is the client who is waited for. */
  get awaitsBody(): boolean {
    return this.#to !== null && !this.#requestDone && !this.#raw && !this.answered;
  }

  sendBody(to: BodyWriter): void {
    this.#to = to;
    to.onDrain = () => this.#connection.resume();
    if (this.#requestDone) {
      to.end(null);
      return;
    }
    this.#connection.awaitBytes();
    const held = this.#held.take();
    if (held !== null) this.#feed(held);
    else if (this.#expectsContinue) this.#connection.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
    this.#connection.resume();
  }

  inform(status: number, headers: HeaderList): void {
    this.#connection.socket.write(renderHead(`HTTP/1.1 ${status} `, headers.names, headers.values), 'latin1');
  }

  respond(head: ResponseHead): BodyWriter {
    this.answered = true;
    const { names, values } = head.headers;
    const upgraded = head.status === 101;
    if (head.framing.kind === 'chunked') head.headers.append('Transfer-Encoding', 'chunked');
    this.#untilClose = head.framing.kind === 'until-close';
    // What was upgraded never goes back to requests: the connection ends with it.
    const last = upgraded || !this.#keepAlive || this.#connection.closing || head.framing.kind === 'until-close';
    if (last && !upgraded) head.headers.append('Connection', 'close');
    const text = renderHead(`HTTP/1.1 ${head.status} ${head.reason}`, names, values);
    this.#writer = new AnswerWriter(this, text, last);
    return this.#writer;
  }

  goRaw(to: BodyWriter): BodyWriter {
    this.#raw = true;
    this.#to = to;
    to.onDrain = () => this.#connection.resume();
    const early = this.#connection.takeWaiting();
    if (early !== null) this.onBytes(early);
    this.#connection.resume();
    return this.#writer ?? new AnswerWriter(this, '', true);
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.answered || this.#finished) return;
    this.answered = true;
    this.#dropHeld();
    // After a request that could be read in two ways nothing more is read from that client.
    const isLast = status === 400 || headers.has('connection');
    const reusable = !isLast && this.#readable && this.#requestDone && this.#keepAlive && !this.#connection.closing;
    const all = HeaderList.from(headers.names.map((name, i) => [name, headers.values[i]!] as const));
    all.append('Content-Length', String(body.length));
    if (!reusable && !headers.has('connection')) all.append('Connection', 'close');
    this.bytesOut += body.length;
    this.#connection.socket.write(
      encodeMessage(renderHead(`HTTP/1.1 ${status} ${reasonOf(status)}`, all.names, all.values), body),
    );
    this.finish(!reusable);
  }

  abort(): void {
    // The connection is another request's by now, or ends in good order.
    if (this.#finished) return;
    // Where the close is the end of the answer, TLS must not even say goodbye; elsewhere the framing tells.
    if (this.#untilClose) this.#connection.reset();
    else this.#connection.socket.destroy();
  }

  /** CONNECT was granted: says so and hands the bare socket on, with whatever was read past the head. */
  takeOver(): Buffer | null {
    this.#finished = true;
    this.answered = true;
    const rest = this.#connection.release();
    this.#connection.socket.write('HTTP/1.1 200 Connection established\r\n\r\n', 'latin1');
    return rest;
  }

  onBytes(chunk: Buffer): void {
    if (this.#raw) {
      this.bytesIn += chunk.length;
      if (!this.#to!.write(chunk)) this.#connection.pause();
    } else if (this.#requestDone || this.#finished || this.#heldEnd.isKept) {
      this.#connection.keepWaiting(chunk);
    } else if (this.#to === null) {
      this.#held.add(chunk);
      if (this.#held.length > maxHeldBytes) {
        this.#heldEnd.paused();
        this.#connection.pause();
      }
    } else {
      this.#feed(chunk);
    }
  }

  #feed(chunk: Buffer): void {
    let end: number;
    try {
      end = this.#requestDone ? 0 : this.#reader!.feedWire(chunk, 0);
    } catch (error) {
      this.breakOff(unreadable(error));
      return;
    }
    const part = end < 0 || end === chunk.length ? chunk : chunk.subarray(0, end);
    this.bytesIn += part.length;
    const max = this.#connection.maxBodyBytes;
    if (max > 0 && this.bytesIn > max && this.requestFraming.kind === 'chunked') {
      this.breakOff(bodyTooLarge(max));
      return;
    }
    const late = end < 0 ? undefined : this.#reader?.trailers?.keys.find(this.#connection.carriesCredential);
    if (late !== undefined) {
      this.breakOff(fieldTooLate(late));
      return;
    }
    if (end >= 0 && end < chunk.length) this.#connection.keepWaiting(chunk.subarray(end));
    if (end >= 0 && !this.#requestDone && this.#heldEnd.isInDoubt) {
      this.#connection.resume();
      this.#heldEnd.keep(() => !this.#finished && this.#give(part, true));
    } else this.#give(part, end >= 0);
  }

  #give(part: Buffer, isLast: boolean): void {
    const more = part.length === 0 || this.#to!.write(part);
    if (!isLast) {
      if (!more) this.#connection.pause();
    } else if (!this.#requestDone) {
      this.#requestDone = true;
      this.#to!.end(null);
    }
  }

  /** The request turned out to be malformed half-way: nothing more of it is read, the upstream must not see an end. */
  breakOff(reason: Error): void {
    this.#readable = false;
    this.#requestDone = true;
    this.#to!.fail(reason);
  }

  /** The client holds its own answer up: there is nobody to tell, but the journal. */
  cutOff(reason: Refusal): void {
    this.cut = reason;
    this.abort();
  }

  /** More was written than the client takes. */
  stalled(): void {
    this.#connection.awaitIntake();
  }

  /** Bytes of a body nobody will read. What is already here may complete the request, and the connection lives on. */
  #dropHeld(): void {
    if (this.#requestDone || this.#to !== null) return;
    const held = this.#held.take();
    if (held === null) return;
    try {
      const end = this.#reader!.feedWire(held, 0);
      if (end < 0) return;
      this.#requestDone = true;
      if (end < held.length) this.#connection.keepWaiting(held.subarray(end));
    } catch {
      this.#readable = false;
    }
  }

  onSocketDrain(): void {
    this.#writer?.onDrain?.();
  }

  onSocketClosed(): void {
    if (this.#finished) return;
    this.#finished = true;
    if (this.#raw) this.#to?.end(null);
    this.#onAbandoned?.();
    this.onFinished?.();
  }

  get socket(): Socket {
    return this.#connection.socket;
  }

  /** The answer is complete. `last`: nothing more can be served on this connection. */
  finish(last: boolean): void {
    if (this.#finished) return;
    this.#finished = true;
    const complete = this.#requestDone && this.#readable;
    if (last || !complete) this.#connection.endLingering();
    else this.#connection.next();
    this.onFinished?.();
  }
}

/** `Content-Length: 0` is complete as it stands: no byte will come that could end it. */
function isEmpty(framing: Framing): boolean {
  return framing.kind === 'none' || (framing.kind === 'length' && framing.bytes === 0);
}

const reasons: Record<number, string> = {
  400: 'Bad Request',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
};

function reasonOf(status: number): string {
  return reasons[status] ?? '';
}
