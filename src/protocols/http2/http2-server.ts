// The server's side of an HTTP/2 connection: requests come out of it. A head that is no request has its stream refused before
// anybody sees it.
import { preface, settingId } from './frame-format.ts';
import type { Http2Sink } from './frame-output.ts';
import type { HeaderBlock } from './hpack-decoder.ts';
import { type EndpointHandler, type EndpointLimits, Http2Endpoint } from './http2-endpoint.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';
import { Http2Stream } from './http2-stream.ts';
import { type RequestFields, readRequestFields } from './request-fields.ts';

export interface ServerLimits extends EndpointLimits {
  readonly streams: number;
}

export interface ServerHandler extends EndpointHandler {
  onRequest(stream: Http2Stream, request: RequestFields): void;
  /** What was to be a request and is none: its stream was refused, and nothing of it is served. */
  onMalformed(fault: string, isTooLarge: boolean): void;
  /** A request for which there was no place, and which the client could have known. */
  onRefused(): void;
}

export class Http2Server extends Http2Endpoint {
  readonly #maxStreams: number;
  readonly #handler: ServerHandler;
  #prefaceHave = 0;

  constructor(sink: Http2Sink, limits: ServerLimits, handler: ServerHandler) {
    super(sink, limits, handler);
    this.#maxStreams = limits.streams;
    this.#handler = handler;
    this.greet([
      [settingId.maxConcurrentStreams, limits.streams],
      [settingId.initialWindowSize, limits.streamWindowBytes],
      [settingId.maxHeaderListSize, limits.headBytes],
    ]);
  }

  override feed(chunk: Buffer): void {
    if (this.#prefaceHave === preface.length) super.feed(chunk);
    else if (!this.isOver) this.#feedFirst(chunk);
  }

  #feedFirst(chunk: Buffer): void {
    const have = this.#prefaceHave;
    const length = Math.min(preface.length - have, chunk.length);
    if (preface.compare(chunk, 0, length, have, have + length) === 0) {
      this.#prefaceHave += length;
      super.feed(chunk, length);
    } else this.fail(new Http2Fault(errorCode.protocol, 'the connection does not begin as HTTP/2 does'));
  }

  protected override openBy(id: number, block: HeaderBlock, isLast: boolean, dependsOnItself: boolean): void {
    if (!this.streams.isNew(id)) {
      if (isLast) this.streams.finished(id);
      return;
    }
    if (!this.isLeaving) this.streams.lastServed = id;
    if (this.isLeaving || this.openStreams >= this.#maxStreams) {
      this.refuse(id, errorCode.refusedStream);
      if (!this.isLeaving) this.#handler.onRefused();
      return;
    }
    const request = block.isTooLarge ? 'the head is too large' : readRequestFields(block.names, block.values);
    const fault = block.fault ?? (dependsOnItself ? 'a stream depends on itself' : null);
    if (fault !== null || typeof request === 'string') {
      this.refuse(id, errorCode.protocol);
      this.#handler.onMalformed(fault ?? String(request), block.isTooLarge);
      return;
    }
    const missing = isLast ? -1 : request.contentLength;
    const stream = new Http2Stream(id, isLast, missing, this.peer.windowBytes, this.limits.streamWindowBytes);
    this.streams.open.set(id, stream);
    this.#handler.onRequest(stream, request);
  }

  /** Whatever comes behind the head of a request are its trailers. */
  protected override readHead(): boolean {
    return false;
  }

  /**
   * RFC 9113 8.1: where an answer is whole, the client need not send the rest of a body that nobody reads. To be called now
   * and then: a client that reads its answer and the reset at once (libcurl 7.88) loses the answer.
   */
  stopUnread(): void {
    if (this.isOver) return;
    for (const id of this.streams.longUnfinished()) this.refuse(id, errorCode.none);
  }

  /** What still comes of the request is dropped. */
  protected override localDone(stream: Http2Stream): void {
    if (!stream.isRemoteDone) this.streams.answered(stream.id);
    this.close(stream, false, null);
  }

  protected override leftAt(): void {
    this.leave();
  }
}
