// One HTTP/2 request stream and its answer. Bodies pass as payload, trailers as fields, so that gRPC arrives whole. Never
// answers twice and never lets a half answer look complete.
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Refusal } from '../../../path/refusal.ts';
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';
import { mayTrail } from '../../../protocols/http1/trailer-fields.ts';
import { errorCode } from '../../../protocols/http2/http2-fault.ts';
import type { Http2Server } from '../../../protocols/http2/http2-server.ts';
import type { FieldLists, Http2Stream, StreamHandler } from '../../../protocols/http2/http2-stream.ts';
import type { RequestFields } from '../../../protocols/http2/request-fields.ts';
import { bodyTooLarge, fieldTooLate, noBodyComes, nothingTaken } from '../request-faults.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import { brokenBody } from './h2-request.ts';

/** For a few words of ours. Refused streams have no place under any limit, and a sandbox can have a hundred thousand. */
const ownAnswerMs = 10_000;
/** Between the last of an answer that breaks off and the word that it does. Nothing is sent on it meanwhile. */
const breakOffMs = 20;

/** The connection a stream is on. */
export interface StreamHost {
  readonly settings: ConnectionSettings;
  readonly session: Http2Server;
  /** What the client has taken of all that was sent to it. */
  readonly takenBytes: number;
  countUseful(bytes: number): void;
  cutStream(stream: Http2Stream): void;
  hangUp(): void;
  streamClosed(exchange: H2Exchange, byClient: boolean): void;
}

export class H2Exchange implements Exchange, StreamHandler {
  /** Until when the client must have sent or taken something; the connection looks. */
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  /** Why we ended it; null: we did not. */
  cut: Refusal | null = null;
  onFinished: (() => void) | null = null;
  /** Of what waits unread, in how many pieces it came. */
  unreadPieces = 0;
  readonly #host: StreamHost;
  readonly #stream: Http2Stream;
  readonly #expectsContinue: boolean;
  readonly #unread = new GatheredBytes();
  #to: BodyWriter | null = null;
  /** Whoever reads the body has said stop. */
  #isPaused = false;
  /** All of the body is here, and all of it was passed on. */
  #isHere: boolean;
  #isPassedOn: boolean;
  #trailers: HeaderList | null = null;
  #writer: StreamWriter | null = null;
  /** There is more for the client than it takes; and what it had taken when that was last looked at. */
  #isStalled = false;
  #sentBefore = 0;
  #takenBefore = 0;
  /** The request turned out to be one that must not go on; what still comes of it is dropped. */
  #broken = false;
  #complete = false;
  #onAbandoned: (() => void) | null = null;
  #abandoned = false;

  constructor(host: StreamHost, stream: Http2Stream, requestFraming: Framing, { names }: RequestFields) {
    this.#host = host;
    this.#stream = stream;
    // Any other expectation was refused.
    this.#expectsContinue = names.includes('expect');
    this.#isHere = stream.isRemoteDone;
    this.#isPassedOn = stream.isRemoteDone;
    this.requestFraming = requestFraming;
    stream.handler = this;
  }

  get onAbandoned(): (() => void) | null {
    return this.#onAbandoned;
  }

  /** A listener that is added after the end is called at once: no work may start for a client that is gone or has its answer. */
  set onAbandoned(act: (() => void) | null) {
    this.#onAbandoned = act;
    if (this.#abandoned || this.#complete) act?.();
  }

  get isRequestOver(): boolean {
    return this.#isPassedOn;
  }

  get unreadBytes(): number {
    return this.#unread.length;
  }

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    const stream = this.#stream;
    if (this.#expectsContinue && !this.#isHere && !stream.isClosed) this.#inform(100, noFields);
    this.#to = to;
    this.#awaitClient();
    to.onDrain = () => {
      this.#awaitClient();
      this.#isPaused = false;
      this.#passOn();
    };
    this.#passOn();
  }

  onContent(bytes: Buffer): void {
    if (this.#to !== null && !this.#isPaused) this.#take(bytes);
    else if (!this.#broken) {
      this.#unread.add(bytes);
      this.unreadPieces++;
    }
  }

  onEnd(trailers: FieldLists | null): void {
    this.#isHere = true;
    if (trailers !== null) this.#trailers = new HeaderList(trailers.names, [...trailers.names], trailers.values);
    this.#passOn();
  }

  /** What waits unread, and then the end. */
  #passOn(): void {
    if (this.#to === null || this.#isPaused) return;
    const unread = this.#unread.take();
    this.unreadPieces = 0;
    if (unread !== null) this.#take(unread);
    const to = this.#to;
    if (to === null || this.#isPaused || !this.#isHere) return;
    this.#isPassedOn = true;
    this.#to = null;
    const { carriesCredential } = this.#host.settings;
    const late = this.#trailers?.keys.find((key) => !mayTrail(key) || carriesCredential(key));
    // Guards: a credential field behind the body would get past everything that judged the head.
    if (late === undefined) to.end(this.#trailers);
    else to.fail(fieldTooLate(late));
  }

  #take(bytes: Buffer): void {
    this.bytesIn += bytes.length;
    this.#host.countUseful(bytes.length);
    const { requestBodyBytes } = this.#host.settings;
    if (requestBodyBytes > 0 && this.bytesIn > requestBodyBytes) {
      this.#breakOff(bodyTooLarge(requestBodyBytes));
      return;
    }
    this.#awaitClient();
    this.#isPaused = !this.#to!.write(bytes);
    this.#host.session.taken(this.#stream, bytes.length);
  }

  onDrain(): void {
    this.#isStalled = false;
    this.#writer?.onDrain?.();
  }

  onClosed(byPeer: boolean, fault: string | null): void {
    this.#abandoned = !this.#complete;
    if (fault !== null) this.cut = brokenBody(fault);
    this.#host.streamClosed(this, byPeer);
    this.#unread.take();
    if (this.#abandoned) this.#onAbandoned?.();
    this.onFinished?.();
  }

  #awaitClient(mostMs = Number.POSITIVE_INFINITY): void {
    const { sweeper, idleTimeoutMs } = this.#host.settings;
    this.deadlineMs = sweeper.deadlineIn(Math.min(idleTimeoutMs, mostMs));
  }

  /** Nothing was sent or taken for as long as the client may leave us waiting, or that is no longer so. */
  expire(): void {
    const { idleTimeoutMs } = this.#host.settings;
    const stream = this.#stream;
    if (this.#isStalled || (stream.isEnding && !stream.isLocalDone)) {
      if (this.#hasTaken()) this.#awaitIntake();
      else {
        this.cut = nothingTaken(idleTimeoutMs);
        this.#host.cutStream(stream);
      }
    } else if (this.#to !== null && !this.answered) {
      // Paused: it is the far side that takes nothing, and the forward stage keeps that time.
      if (this.#isPaused) this.#awaitClient();
      else this.#breakOff(noBodyComes(idleTimeoutMs));
    } else this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Where it is the window that holds it up, what it takes of other streams does not count. */
  #hasTaken(): boolean {
    const { waitingBytes, sentBytes } = this.#stream;
    return sentBytes !== this.#sentBefore || (waitingBytes === 0 && this.#host.takenBytes !== this.#takenBefore);
  }

  #awaitIntake(mostMs?: number): void {
    this.#sentBefore = this.#stream.sentBytes;
    this.#takenBefore = this.#host.takenBytes;
    this.#awaitClient(mostMs);
  }

  #breakOff(reason: Refusal): void {
    const to = this.#to!;
    this.#broken = true;
    this.#to = null;
    to.fail(reason);
  }

  inform(status: number, headers: HeaderList): void {
    if (!this.#stream.isClosed) this.#inform(status, fieldsOf(headers));
  }

  #inform(status: number, fields: FieldLists): void {
    this.#host.session.sender.head(this.#stream, status, fields);
  }

  respond(head: ResponseHead): BodyWriter {
    const stream = this.#stream;
    const { sender } = this.#host.session;
    this.#writer = new StreamWriter(this.#host.session, stream, {
      onBytes: (bytes) => {
        this.bytesOut += bytes;
      },
      onStalled: () => {
        this.#isStalled = true;
        this.#awaitIntake();
      },
      onEnd: () => {
        this.#complete = true;
        this.#awaitIntake();
      },
      onFailed: () => this.abort(),
    });
    if (!stream.isClosed && !this.answered) {
      // Throws at fields that HTTP/2 cannot carry: then nothing was answered yet.
      sender.head(stream, head.status, fieldsOf(head.headers));
      if (head.framing.kind === 'none') {
        this.#complete = true;
        sender.end(stream, null);
      }
    }
    this.answered = true;
    return this.#writer;
  }

  goRaw(_to: BodyWriter): BodyWriter {
    throw new Error('an HTTP/2 stream cannot be upgraded');
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.answered) return;
    // HTTP/2 has no such field: it is said by ending the session, and this stream with it.
    if (headers.has('connection')) this.#host.hangUp();
    const stream = this.#stream;
    if (stream.isClosed) return;
    const { sender } = this.#host.session;
    const { names, values } = fieldsOf(headers);
    sender.head(stream, status, {
      names: [...names, 'content-length'],
      values: [...values, String(body.length)],
    });
    this.answered = true;
    this.#complete = true;
    this.bytesOut += body.length;
    sender.content(stream, body);
    this.#awaitIntake(ownAnswerMs);
    sender.end(stream, null);
  }

  abort(): void {
    const { session } = this.#host;
    const breakOff = (): void => session.reset(this.#stream, errorCode.internal);
    // libcurl (7.88) loses what it reads together with a reset: git would not show how far it came.
    if (this.bytesOut === 0) breakOff();
    else setTimeout(breakOff, breakOffMs);
  }
}

interface StreamEvents {
  onBytes(bytes: number): void;
  /** The stream holds as much as it should. */
  onStalled(): void;
  onEnd(): void;
  /** It is not whole, and must not look so. */
  onFailed(): void;
}

class StreamWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #session: Http2Server;
  readonly #stream: Http2Stream;
  readonly #events: StreamEvents;

  constructor(session: Http2Server, stream: Http2Stream, events: StreamEvents) {
    this.#session = session;
    this.#stream = stream;
    this.#events = events;
  }

  write(chunk: Buffer): boolean {
    if (this.#stream.isClosed) return true;
    this.#events.onBytes(chunk.length);
    const more = this.#session.sender.content(this.#stream, chunk);
    if (!more) this.#events.onStalled();
    return more;
  }

  flush(): void {}

  end(trailers: HeaderList | null): void {
    const { sender } = this.#session;
    const fields = trailers === null ? null : fieldsOf(trailers);
    if (fields !== null && !sender.canWrite(fields)) {
      // A name or a value that only HTTP/1.1 can carry.
      this.#events.onFailed();
      return;
    }
    this.#events.onEnd();
    sender.end(this.#stream, fields);
  }

  fail(): void {
    this.#events.onFailed();
  }
}

const noFields: FieldLists = { names: [], values: [] };

function fieldsOf({ keys, values }: HeaderList): FieldLists {
  return { names: keys, values };
}
