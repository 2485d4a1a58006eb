// Finds the end of a message body, and its content where it is asked for. A body with a length costs the same for
// a buffer of any size; chunk data is skipped, never scanned. What it has passed may be relayed as it came: every
// byte of framing in it has been checked.
import { CR, LF } from './byte-class.ts';
import { ChunkLine } from './chunk-line.ts';
import { collectFields, type Fields, scanFields } from './field-section.ts';
import { type Http1Framing, refuseFraming } from './framing.ts';
import { mayTrail } from './trailer-fields.ts';

const MAX_TRAILER_BYTES = 8 * 1024;

const LENGTH = 0;
const UNTIL_CLOSE = 1;
const CHUNK_LINE = 2;
const CHUNK_DATA = 3;
const CHUNK_CR = 4;
const CHUNK_LF = 5;
const TRAILERS = 6;
const DONE = 7;
const BROKEN = 8;

type OnPayload = (slice: Buffer) => void;

export class BodyReader {
  /** Trailer fields, once `done`; null when there were none. */
  trailers: Fields | null = null;
  /** Content seen so far, without chunk framing and trailers. */
  payloadBytes = 0;
  #state: number;
  /** Content still to come of the body or of the current chunk. */
  #remaining = 0;
  readonly #line: ChunkLine | null;
  /** The part of the trailer section that came in earlier buffers. */
  #held: Buffer | null = null;

  constructor(framing: Http1Framing) {
    this.#line = framing.kind === 'chunked' ? new ChunkLine() : null;
    if (framing.kind === 'chunked') this.#state = CHUNK_LINE;
    else if (framing.kind === 'until-close') this.#state = UNTIL_CLOSE;
    else {
      this.#remaining = framing.kind === 'length' ? framing.bytes : 0;
      this.#state = this.#remaining === 0 ? DONE : LENGTH;
    }
  }

  /** The message has been read to its end. Never true for `until-close`: there the connection's end is the end. */
  get done(): boolean {
    return this.#state === DONE;
  }

  /** Returns the offset just past the end of the message, or -1 if it goes on. All before that may be relayed. */
  feedWire(buf: Buffer, start: number): number {
    return this.#feed(buf, start, null);
  }

  /** As `feedWire`, and hands out the content alone, as views of `buf`. */
  feedPayload(buf: Buffer, start: number, onPayload: OnPayload): number {
    return this.#feed(buf, start, onPayload);
  }

  /**
   * As `feedPayload`, with all the content of `buf` in one piece: what comes in ten thousand chunks of a byte is not to
   * become as many writes.
   */
  feedJoined(buf: Buffer, start: number, onPayload: OnPayload): number {
    const slices: Buffer[] = [];
    const end = this.#feed(buf, start, (slice) => slices.push(slice));
    if (slices.length > 0) onPayload(slices.length === 1 ? slices[0]! : Buffer.concat(slices));
    return end;
  }

  #feed(buf: Buffer, start: number, onPayload: OnPayload | null): number {
    const state = this.#state;
    if (state === DONE) return start;
    if (state === LENGTH) {
      const end = this.#takeData(buf, start, onPayload);
      if (this.#remaining > 0) return -1;
      this.#state = DONE;
      return end;
    }
    if (state === UNTIL_CLOSE) {
      this.payloadBytes += buf.length - start;
      if (onPayload !== null && start < buf.length) onPayload(start === 0 ? buf : buf.subarray(start));
      return -1;
    }
    if (state === BROKEN) refuseFraming('bytes after a body that was already refused');
    try {
      return this.#feedChunked(buf, start, onPayload);
    } catch (error) {
      // Going on after bad framing would be resynchronizing, which is guessing.
      this.#state = BROKEN;
      throw error;
    }
  }

  #feedChunked(buf: Buffer, start: number, onPayload: OnPayload | null): number {
    const line = this.#line!;
    let at = start;
    while (at < buf.length) {
      switch (this.#state) {
        case CHUNK_LINE:
          this.#remaining = line.feed(buf[at++]!);
          if (this.#remaining >= 0) this.#state = this.#remaining === 0 ? TRAILERS : CHUNK_DATA;
          break;
        case CHUNK_DATA:
          at = this.#takeData(buf, at, onPayload);
          if (this.#remaining === 0) this.#state = CHUNK_CR;
          break;
        case CHUNK_CR:
          if (buf[at++] !== CR) refuseFraming('a chunk is not followed by CRLF where its size says it ends');
          this.#state = CHUNK_LF;
          break;
        case CHUNK_LF:
          if (buf[at++] !== LF) refuseFraming('a chunk is not followed by CRLF where its size says it ends');
          this.#state = CHUNK_LINE;
          break;
        default:
          return this.#takeTrailers(buf, at);
      }
    }
    return -1;
  }

  #takeData(buf: Buffer, start: number, onPayload: OnPayload | null): number {
    const end = Math.min(buf.length, start + this.#remaining);
    const bytes = end - start;
    if (bytes === 0) return end;
    this.#remaining -= bytes;
    this.payloadBytes += bytes;
    if (onPayload !== null) onPayload(bytes === buf.length ? buf : buf.subarray(start, end));
    return end;
  }

  #takeTrailers(buf: Buffer, start: number): number {
    const before = this.#held === null ? 0 : this.#held.length;
    const fresh = start === 0 ? buf : buf.subarray(start);
    // No more than the limit is held or scanned, however much comes at once.
    const bounded = fresh.subarray(0, MAX_TRAILER_BYTES - before);
    const section = this.#held === null ? bounded : Buffer.concat([this.#held, bounded]);
    const end = scanFields(section, 0, section.length);
    if (end < 0) {
      if (section.length >= MAX_TRAILER_BYTES) refuseFraming(`trailers of more than ${MAX_TRAILER_BYTES} bytes`);
      // A copy: the caller may read into the same buffer again.
      this.#held = Buffer.from(section);
      return -1;
    }
    // A section of two bytes is the blank line alone.
    if (end > 2) this.trailers = collectTrailers(section, end);
    this.#held = null;
    this.#state = DONE;
    return start + end - before;
  }
}

function collectTrailers(section: Buffer, end: number): Fields {
  const { names, keys, values } = collectFields(section, section.toString('latin1', 0, end), 0);
  for (const key of keys) {
    if (!mayTrail(key)) refuseFraming(`the field ${key} may not come after the body`);
  }
  return { names, keys, values };
}
