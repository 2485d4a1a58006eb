// One side of an HTTP/2 connection as a state machine without a socket: bytes go in, content comes out, frames are left with the
// sink (RFC 9113). Strict: what breaks the framing ends the connection, what breaks the rules of a message ends its stream.
// Everything the other side can make us keep has a bound. What is different for servers and clients is in their own files.
import { frameFlag, frameType, maxWindowBytes, usualWindowBytes } from './frame-format.ts';
import type { Http2Sink } from './frame-output.ts';
import { type FrameHandler, Http2FrameReader } from './frame-reader.ts';
import { checkFrame } from './frame-rules.ts';
import { type BlockHandler, HeadBlock } from './head-block.ts';
import { type HeaderBlock, HpackDecoder } from './hpack-decoder.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';
import { Http2Sender } from './http2-sender.ts';
import type { FieldLists, Http2Stream } from './http2-stream.ts';
import { PeerSettings, settingsFrame } from './peer-settings.ts';
import { ReceiveWindow } from './receive-window.ts';
import { faultInTrailers } from './request-fields.ts';
import { StreamTable } from './stream-table.ts';

export interface EndpointLimits {
  /** Of a decoded head, 32 bytes added for each field. */
  readonly headBytes: number;
  /** What may come of a body that nobody takes, and of all bodies before we say go on. */
  readonly streamWindowBytes: number;
  readonly sessionWindowBytes: number;
}

export interface EndpointHandler {
  /** The connection cannot go on: the goodbye was said, and all streams are closed. */
  onFault(fault: Http2Fault): void;
  /** One side is leaving, and nothing is open any more. */
  onDone(): void;
}

/** Acknowledgements for somebody who takes none. */
const maxUntakenReplies = 1000;

export abstract class Http2Endpoint implements FrameHandler, BlockHandler {
  isOver = false;
  readonly sender: Http2Sender;
  protected readonly limits: EndpointLimits;
  protected readonly streams = new StreamTable();
  protected readonly peer = new PeerSettings();
  protected isLeaving = false;
  readonly #handler: EndpointHandler;
  readonly #reader = new Http2FrameReader(this);
  readonly #block: HeadBlock;
  readonly #decoder: HpackDecoder;
  readonly #window: ReceiveWindow;
  /** The other side has sent its settings, and taken ours. */
  #isGreeted = false;
  #isAcknowledged = false;
  #untakenReplies = 0;
  // The DATA frame that is being read: its stream if its content is wanted.
  #data: Http2Stream | null = null;
  #dataPadding = 0;

  constructor(sink: Http2Sink, limits: EndpointLimits, handler: EndpointHandler) {
    this.limits = limits;
    this.#handler = handler;
    this.#block = new HeadBlock(this, limits.headBytes);
    this.#decoder = new HpackDecoder(limits.headBytes);
    this.#window = new ReceiveWindow(limits.sessionWindowBytes);
    this.sender = new Http2Sender(sink, (stream) => this.localDone(stream));
  }

  /** A head for a stream that is not open. */
  protected abstract openBy(id: number, block: HeaderBlock, isLast: boolean, dependsOnItself: boolean): void;
  /** A head for one that is: true, if it was no trailers. */
  protected abstract readHead(stream: Http2Stream, block: HeaderBlock, isLast: boolean): boolean;
  /** We have sent the end of a stream. */
  protected abstract localDone(stream: Http2Stream): void;
  /** The other side leaves, and has served no stream behind this one. */
  protected abstract leftAt(lastStream: number): void;

  /** What is said first: our settings, and how much may come before we say more. */
  protected greet(settings: readonly (readonly [id: number, value: number])[]): void {
    const { output } = this.sender;
    output.content(settingsFrame(settings));
    output.words(frameType.windowUpdate, 0, 0, this.limits.sessionWindowBytes - usualWindowBytes);
  }

  get openStreams(): number {
    return this.streams.open.size;
  }

  /** A head has begun and is not whole: nothing else can come before it is. */
  get isAwaitingHead(): boolean {
    return this.#block.stream !== 0;
  }

  feed(chunk: Buffer, from = 0): void {
    if (this.isOver) return;
    try {
      this.#reader.feed(chunk, from);
    } catch (error) {
      this.fail(
        error instanceof Http2Fault ? error : new Http2Fault(errorCode.internal, 'a frame could not be read', error),
      );
    }
  }

  /** Some of a body was used: its place is given back. */
  taken(stream: Http2Stream, bytes: number): void {
    if (stream.isClosed || stream.isRemoteDone) return;
    const grown = stream.receiveWindow.use(bytes);
    if (grown > 0) this.sender.output.words(frameType.windowUpdate, 0, stream.id, grown);
  }

  /** Ends a stream from our side. */
  reset(stream: Http2Stream, code: number): void {
    if (stream.isClosed) return;
    this.refuse(stream.id, code);
    this.close(stream, false, null);
  }

  /** Takes no more requests. The client may ask them elsewhere: none behind the last was looked at. */
  leave(): void {
    if (this.isLeaving || this.isOver) return;
    this.isLeaving = true;
    this.sender.output.words(frameType.goaway, 0, 0, this.streams.lastServed, errorCode.none);
    this.#endIfDone();
  }

  /** Ends all of it, with a word. */
  fail(fault: Http2Fault): void {
    if (this.isOver) return;
    this.sender.output.words(frameType.goaway, 0, 0, this.streams.lastServed, fault.code);
    this.sender.output.flush();
    this.end();
    this.#handler.onFault(fault);
  }

  /** The connection is gone. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sender.output.shut();
    for (const stream of [...this.streams.open.values()]) this.close(stream, false, null);
  }

  drained(): void {
    this.#untakenReplies = 0;
    if (!this.isOver) this.sender.drained();
  }

  onDataFrame(id: number, flags: number, length: number): void {
    this.#checkPlace(frameType.data, flags);
    this.#data = null;
    this.#dataPadding = length;
    if (!this.#window.take(length)) throw new Http2Fault(errorCode.flowControl, 'more content than was allowed');
    // At once: what bounds the bodies that nobody reads is the window of their streams.
    const grown = this.#window.use(length);
    if (grown > 0) this.sender.output.words(frameType.windowUpdate, 0, 0, grown);
    const stream = this.streams.open.get(id);
    if (stream === undefined) {
      if (!this.streams.wasEndedHere(id))
        throw new Http2Fault(errorCode.streamClosed, 'content on a stream that is closed');
      return;
    }
    if (stream.isRemoteDone) this.fault(stream, errorCode.streamClosed, 'content behind the end of the message');
    else if (!stream.receiveWindow.take(length))
      this.fault(stream, errorCode.flowControl, 'more content than was allowed');
    else this.#data = stream;
  }

  onContent(bytes: Buffer): void {
    const stream = this.#data;
    this.#dataPadding -= bytes.length;
    if (stream === null || stream.isClosed) return;
    if (stream.missingBytes >= 0) {
      if (stream.missingBytes < bytes.length) {
        this.fault(stream, errorCode.protocol, 'more content than Content-Length says');
        return;
      }
      stream.missingBytes -= bytes.length;
    }
    stream.handler.onContent(bytes);
  }

  onDataEnd(id: number, flags: number): void {
    const stream = this.#data;
    if (stream === null || stream.isClosed) {
      if ((flags & frameFlag.endStream) !== 0) this.streams.finished(id);
      return;
    }
    if ((flags & frameFlag.endStream) !== 0) this.remoteDone(stream, null);
    else if (this.#dataPadding > 0) this.taken(stream, this.#dataPadding);
  }

  onFrame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    this.#checkPlace(type, flags);
    checkFrame(type, flags, id, end - start);
    if (type === frameType.headers) this.#block.begin(flags, id, bytes, start, end);
    else if (type === frameType.continuation) this.#block.continue(flags, id, bytes, start, end);
    else if (type === frameType.windowUpdate) this.#readWindow(id, bytes.readUInt32BE(start) & maxWindowBytes);
    else if (type === frameType.rstStream) this.#readReset(id, bytes.readUInt32BE(start));
    else if (type === frameType.settings) this.#readSettings(flags, bytes, start, end);
    else if (type === frameType.ping) this.#readPing(flags, bytes, start);
    else if (type === frameType.goaway) this.leftAt(bytes.readUInt32BE(start) & maxWindowBytes);
    else if (type === frameType.priority) this.#readPriority(id, bytes.readUInt32BE(start) & maxWindowBytes);
    else if (type === frameType.pushPromise) throw new Http2Fault(errorCode.protocol, 'a push that nobody asked for');
  }

  /** The first frame is SETTINGS, and nothing stands between the frames of a head. */
  #checkPlace(type: number, flags: number): void {
    if (this.#block.stream !== 0 && type !== frameType.continuation) {
      throw new Http2Fault(errorCode.protocol, 'a frame in the middle of a head');
    }
    if (this.#isGreeted) return;
    if (type !== frameType.settings || (flags & frameFlag.ack) !== 0) {
      throw new Http2Fault(errorCode.protocol, 'the first frame is not SETTINGS');
    }
    this.#isGreeted = true;
  }

  onBlock(id: number, isLast: boolean, dependsOnItself: boolean, bytes: Buffer, start: number, end: number): void {
    // Read in any case: the next block builds on it.
    const block = this.#decoder.decode(bytes, start, end);
    const stream = this.streams.open.get(id);
    if (stream === undefined) this.openBy(id, block, isLast, dependsOnItself);
    else if (stream.isRemoteDone) this.fault(stream, errorCode.streamClosed, 'fields behind the end of the message');
    else if (!this.readHead(stream, block, isLast)) this.#readTrailers(stream, block, isLast);
  }

  #readTrailers(stream: Http2Stream, { names, values, fault, isTooLarge }: HeaderBlock, isLast: boolean): void {
    const wrong =
      (isLast ? null : 'a second head') ??
      fault ??
      (isTooLarge ? 'more fields behind the body than a head may have' : faultInTrailers(names));
    if (wrong !== null) this.fault(stream, errorCode.protocol, wrong);
    else this.remoteDone(stream, { names, values });
  }

  #readWindow(id: number, added: number): void {
    const stream = id === 0 ? null : this.streams.open.get(id);
    if (stream === undefined) {
      this.streams.wasEndedHere(id);
      return;
    }
    if (added === 0) {
      if (stream === null) throw new Http2Fault(errorCode.protocol, 'a window that grows by nothing');
      this.fault(stream, errorCode.protocol, 'a window that grows by nothing');
    } else if (!this.sender.widen(stream, added)) {
      this.fault(stream!, errorCode.flowControl, 'a window that is too large');
    }
  }

  #readReset(id: number, code: number): void {
    const stream = this.streams.open.get(id);
    if (stream !== undefined) {
      stream.resetCode = code;
      this.close(stream, true, null);
    } else if (this.streams.wasEndedHere(id)) this.streams.finished(id);
  }

  #readSettings(flags: number, bytes: Buffer, start: number, end: number): void {
    if ((flags & frameFlag.ack) !== 0) {
      if (this.#isAcknowledged) throw new Http2Fault(errorCode.protocol, 'settings are taken that were not sent');
      this.#isAcknowledged = true;
      return;
    }
    const before = this.peer.windowBytes;
    this.peer.read(bytes, start, end);
    this.#reply();
    this.sender.output.head(0, frameType.settings, frameFlag.ack, 0);
    this.sender.adopt(this.peer, this.peer.windowBytes - before, this.streams.open.values());
  }

  #readPing(flags: number, bytes: Buffer, start: number): void {
    if ((flags & frameFlag.ack) !== 0) return;
    this.#reply();
    const { output } = this.sender;
    output.words(frameType.ping, frameFlag.ack, 0, bytes.readUInt32BE(start), bytes.readUInt32BE(start + 4));
  }

  #readPriority(id: number, dependsOn: number): void {
    if (dependsOn === id) throw new Http2Fault(errorCode.protocol, 'a stream depends on itself');
  }

  /** Guards: somebody who asks for acknowledgements and takes none. */
  #reply(): void {
    if (!this.sender.output.isFree && ++this.#untakenReplies > maxUntakenReplies) {
      throw new Http2Fault(errorCode.enhanceYourCalm, 'acknowledgements are asked for and not taken');
    }
  }

  /** The other side may go on sending for a while. */
  protected refuse(id: number, code: number): void {
    this.sender.reset(id, code);
    this.streams.endedHere(id);
  }

  /** It broke a rule. */
  protected fault(stream: Http2Stream, code: number, fault: string): void {
    this.refuse(stream.id, code);
    this.close(stream, true, fault);
  }

  protected remoteDone(stream: Http2Stream, trailers: FieldLists | null): void {
    if (stream.missingBytes > 0) {
      this.fault(stream, errorCode.protocol, 'less content than Content-Length says');
      return;
    }
    stream.isRemoteDone = true;
    stream.handler.onEnd(trailers);
    if (stream.isLocalDone) this.close(stream, false, null);
  }

  protected close(stream: Http2Stream, byPeer: boolean, fault: string | null): void {
    if (stream.isClosed) return;
    this.streams.open.delete(stream.id);
    this.sender.forget(stream);
    stream.close(byPeer, fault);
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.isLeaving && !this.isOver && this.streams.open.size === 0) this.#handler.onDone();
  }
}
