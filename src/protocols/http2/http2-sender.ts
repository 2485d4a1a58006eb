// Our side of a connection: heads, content and ends of streams as frames, no more than the other side and the socket allow.
// What may not leave yet waits with its stream, and streams take turns. Never sends on a stream behind its end.
import {
  frameFlag,
  frameHeadBytes,
  frameType,
  maxWindowBytes,
  usualFrameBytes,
  usualWindowBytes,
} from './frame-format.ts';
import { FrameOutput, type Http2Sink, writeFrameHead } from './frame-output.ts';
import { HpackEncoder, UnwritableField } from './hpack-encoder.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';
import type { FieldLists, Http2Stream } from './http2-stream.ts';
import type { PeerSettings } from './peer-settings.ts';

/** How much may wait on a stream before its source is told to stop. */
const unsentBytes = 64 * 1024;
/** What a stream sends before it is another's turn. */
const shareBytes = 64 * 1024;

export class Http2Sender {
  readonly output: FrameOutput;
  readonly #encoder = new HpackEncoder();
  readonly #onLocalDone: (stream: Http2Stream) => void;
  #window = usualWindowBytes;
  #frameBytes = usualFrameBytes;
  /** With content that waits; and those whose source was told to stop. */
  readonly #queue = new Set<Http2Stream>();
  readonly #stopped = new Set<Http2Stream>();

  constructor(sink: Http2Sink, onLocalDone: (stream: Http2Stream) => void) {
    this.output = new FrameOutput(sink);
    this.#onLocalDone = onLocalDone;
  }

  /** Throws, and sends nothing, where a field cannot be written. */
  head(stream: Http2Stream, status: number, fields: FieldLists): void {
    if (status === 101) throw new UnwritableField('HTTP/2 does not switch protocols');
    this.#head(stream, status, fields, 0);
  }

  /** Whether HTTP/2 can carry them. */
  canWrite(fields: FieldLists): boolean {
    try {
      this.#encoder.measure(fields.names, fields.values);
      return true;
    } catch (error) {
      if (error instanceof UnwritableField) return false;
      throw error;
    }
  }

  #head(stream: Http2Stream, status: number, fields: FieldLists, flags: number): void {
    const { output } = this;
    const most = this.#encoder.measure(fields.names, fields.values);
    if (most > usualFrameBytes) this.#largeHead(stream, status, fields, flags, most);
    else {
      const slab = output.room(frameHeadBytes + most);
      const { at } = output;
      const blockAt = at + frameHeadBytes;
      const end = this.#encoder.write(slab, blockAt, status, fields.names, fields.values);
      writeFrameHead(slab, at, end - blockAt, frameType.headers, flags | frameFlag.endHeaders, stream.id);
      if (status >= 200) output.remember(stream, at);
      output.commit(end);
    }
  }

  #largeHead(stream: Http2Stream, status: number, { names, values }: FieldLists, flags: number, most: number): void {
    const block = Buffer.allocUnsafe(most);
    const end = this.#encoder.write(block, 0, status, names, values);
    stream.slab = null;
    for (let at = 0; at < end || at === 0; at += usualFrameBytes) {
      const part = block.subarray(at, Math.min(end, at + usualFrameBytes));
      const isLastPart = at + usualFrameBytes >= end;
      const type = at === 0 ? frameType.headers : frameType.continuation;
      this.output.head(part.length, type, (at === 0 ? flags : 0) | (isLastPart ? frameFlag.endHeaders : 0), stream.id);
      this.output.content(part);
    }
  }

  /** False: stop until `onDrain`. */
  content(stream: Http2Stream, bytes: Buffer): boolean {
    if (stream.isClosed || stream.isLocalDone || bytes.length === 0) return true;
    const mayLeave = stream.waitingBytes === 0 && this.output.isFree;
    if (mayLeave && bytes.length <= stream.sendWindow && bytes.length <= this.#window) this.#frames(stream, bytes);
    else {
      stream.waiting.push(bytes);
      stream.waitingBytes += bytes.length;
      this.#queue.add(stream);
      if (stream.waiting.length === 1) this.#send(stream, shareBytes);
    }
    if (this.output.isFree && stream.waitingBytes < unsentBytes) return true;
    this.#stopped.add(stream);
    return false;
  }

  /** `trailers`: such as can be written. */
  end(stream: Http2Stream, trailers: FieldLists | null): void {
    if (stream.isClosed || stream.isLocalDone || stream.isEnding) return;
    stream.isEnding = true;
    stream.trailers = trailers;
    if (stream.waitingBytes === 0) this.#finish(stream);
  }

  reset(stream: number, code: number): void {
    this.output.words(frameType.rstStream, 0, stream, code);
  }

  /** The other side takes more, of one stream or of all. */
  widen(stream: Http2Stream | null, bytes: number): boolean {
    if (stream === null) {
      this.#window += bytes;
      if (this.#window > maxWindowBytes) throw new Http2Fault(errorCode.flowControl, 'a window that is too large');
      this.pump();
      return true;
    }
    stream.sendWindow += bytes;
    if (stream.sendWindow > maxWindowBytes) return false;
    this.#send(stream, Number.POSITIVE_INFINITY);
    this.#resumeSource(stream);
    return true;
  }

  /** `live`: all streams that there are. */
  adopt(settings: PeerSettings, widened: number, live: Iterable<Http2Stream>): void {
    this.#encoder.limitTable(settings.tableBytes);
    // Larger ones would only keep other streams waiting.
    this.#frameBytes = Math.min(settings.frameBytes, 4 * usualFrameBytes);
    if (widened === 0) return;
    for (const stream of live) {
      stream.sendWindow += widened;
      if (stream.sendWindow > maxWindowBytes) throw new Http2Fault(errorCode.flowControl, 'a window that is too large');
    }
    this.pump();
  }

  /** The socket has room again. */
  drained(): void {
    this.output.isFree = true;
    this.pump();
    for (const stream of [...this.#stopped]) this.#resumeSource(stream);
  }

  /** What waits, in turns. */
  pump(): void {
    for (let moved = true; moved && this.output.isFree && this.#window > 0; ) {
      moved = false;
      for (const stream of [...this.#queue]) moved = this.#send(stream, shareBytes) || moved;
    }
  }

  forget(stream: Http2Stream): void {
    this.#queue.delete(stream);
    this.#stopped.delete(stream);
  }

  /** Some of what waits on it. True: something left. */
  #send(stream: Http2Stream, share: number): boolean {
    let left = share;
    while (stream.waitingBytes > 0 && left > 0 && this.output.isFree) {
      const most = Math.min(stream.sendWindow, this.#window, left);
      if (most <= 0) break;
      const part = stream.takeWaiting(most);
      left -= part.length;
      this.#frames(stream, part);
    }
    // To the end of the queue.
    this.#queue.delete(stream);
    if (stream.waitingBytes > 0) this.#queue.add(stream);
    else if (stream.isEnding && !stream.isLocalDone) this.#finish(stream);
    return left < share;
  }

  #resumeSource(stream: Http2Stream): void {
    if (!this.output.isFree || stream.waitingBytes >= unsentBytes / 2 || !this.#stopped.delete(stream)) return;
    stream.handler.onDrain();
  }

  #frames(stream: Http2Stream, bytes: Buffer): void {
    const { output } = this;
    stream.sendWindow -= bytes.length;
    stream.sentBytes += bytes.length;
    this.#window -= bytes.length;
    for (let at = 0; at < bytes.length; at += this.#frameBytes) {
      const end = Math.min(bytes.length, at + this.#frameBytes);
      output.room(frameHeadBytes);
      const headAt = output.at;
      output.head(end - at, frameType.data, 0, stream.id);
      output.remember(stream, headAt);
      output.content(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    }
  }

  #finish(stream: Http2Stream): void {
    const { trailers } = stream;
    if (trailers !== null && trailers.names.length > 0) this.#head(stream, 0, trailers, frameFlag.endStream);
    else if (!this.output.endWith(stream)) this.output.head(0, frameType.data, frameFlag.endStream, stream.id);
    stream.isLocalDone = true;
    this.#onLocalDone(stream);
  }
}
