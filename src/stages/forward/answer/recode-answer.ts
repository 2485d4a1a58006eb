// Puts the coding back on an answer that was decoded and searched: the same one, so that the client gets what it was told
// it would. What comes in is passed on when it is flushed, so that no event waits for the next. Bounded like decode-answer.
import { constants, createBrotliCompress, createDeflate, createGzip, type Gzip } from 'node:zlib';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { ContentCoding } from '../../../protocols/http/content-coding.ts';

type Coder = Pick<Gzip, 'write' | 'end' | 'on' | 'pause' | 'resume' | 'destroy' | 'flush'>;

const coderOptions = { chunkSize: 32 * 1024, writableHighWaterMark: 128 * 1024, readableHighWaterMark: 64 * 1024 };
/** The client is near: time counts more than size. */
const deflateOptions = { ...coderOptions, level: 1 };
const brotliOptions = {
  ...coderOptions,
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    // A window of 256 KiB: the usual one would take megabytes for every answer.
    [constants.BROTLI_PARAM_LGWIN]: 18,
  },
};

/** A writer of content, which goes to `to` in the coding. */
export class RecodingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #to: BodyWriter;
  readonly #coder: Coder;
  readonly #flushKind: number;
  readonly #onOver: (failure: Error | null) => void;
  #unflushed = false;
  #trailers: HeaderList | null = null;
  #ending = false;
  #over = false;

  /** `onOver`: all of it was given to `to` (null), or it failed. */
  constructor(to: BodyWriter, coding: ContentCoding, onOver: (failure: Error | null) => void) {
    this.#to = to;
    this.#onOver = onOver;
    this.#flushKind = coding === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
    const coder: Coder = openCoder(coding);
    this.#coder = coder;
    to.onDrain = () => coder.resume();
    coder.on('drain', () => {
      if (!this.#ending) this.onDrain?.();
    });
    coder.on('data', (piece: Buffer) => {
      if (!this.#over && !to.write(piece)) coder.pause();
    });
    coder.on('end', () => {
      if (this.#over) return;
      this.#over = true;
      try {
        to.end(this.#trailers?.without(speaksOfBytes) ?? null);
      } catch (error) {
        // Called by zlib: what is thrown there would end the gateway.
        to.fail(error as Error);
        onOver(error as Error);
        return;
      }
      onOver(null);
    });
    coder.on('error', (error) => this.fail(error));
  }

  write(chunk: Buffer): boolean {
    if (this.#over || chunk.length === 0) return true;
    this.#unflushed = true;
    return this.#coder.write(chunk);
  }

  flush(): void {
    if (this.#over || this.#ending) return;
    if (this.#unflushed) this.#coder.flush(this.#flushKind);
    else this.#to.flush();
    this.#unflushed = false;
  }

  end(trailers: HeaderList | null): void {
    if (this.#over || this.#ending) return;
    this.#ending = true;
    this.#trailers = trailers;
    this.#coder.end();
  }

  fail(reason: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#coder.destroy();
    this.#to.fail(reason);
    this.#onOver(reason);
  }
}

function openCoder(coding: ContentCoding): Coder {
  if (coding === 'br') return createBrotliCompress(brotliOptions);
  return coding === 'gzip' ? createGzip(deflateOptions) : createDeflate(deflateOptions);
}

/** They speak of the coded bytes, which are others now. */
const ofTheBytes: ReadonlySet<string> = new Set([
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'x-goog-hash',
]);

function speaksOfBytes(key: string): boolean {
  return ofTheBytes.has(key) || key.startsWith('x-amz-checksum-');
}

/** The head of a re-coded answer: the same content, in other bytes, which cannot be asked for in parts. */
export function recodedFields(headers: HeaderList): HeaderList {
  const kept = headers.without((key) => speaksOfBytes(key) || key === 'accept-ranges');
  for (let i = 0; i < kept.keys.length; i++) if (kept.keys[i] === 'etag') kept.values[i] = weak(kept.values[i]!);
  return kept;
}

/** RFC 9110 section 8.8.1: a strong validator stands for the very bytes. */
function weak(etag: string): string {
  return etag.startsWith('W/') ? etag : `W/${etag}`;
}

/** Of an answer without a body (304) to who holds a re-coded one: the validator that it knows. */
export function knownValidator(headers: HeaderList, asked: readonly string[]): HeaderList {
  const etag = headers.get('etag');
  if (etag === undefined || !asked.some((value) => value.includes(weak(etag)))) return headers;
  headers.values[headers.keys.indexOf('etag')] = weak(etag);
  return headers;
}
