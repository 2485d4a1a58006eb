// Takes the coding off an answer, so that it can be read. Bounded: what comes out is passed on at the pace of whoever
// takes it, and nothing is gathered. An answer that does not decode to its end never looks whole.
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, type Gunzip } from 'node:zlib';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import {
  type ContentCoding,
  codingsNamed,
  contentCodings,
  isZlibForm,
} from '../../../protocols/http/content-coding.ts';

/** Null: none. */
export function codingOf(headers: HeaderList): ContentCoding | 'unreadable' | null {
  const names = codingsIn(headers, 'content-encoding');
  // Messages of gRPC are compressed one by one, inside the body.
  if (codingsIn(headers, 'grpc-encoding').length > 0 || names.length > 1) return 'unreadable';
  return names.length === 0 ? null : (contentCodings.get(names[0]!) ?? 'unreadable');
}

function codingsIn(headers: HeaderList, key: string): string[] {
  return headers.has(key) ? codingsNamed(headers.getAll(key)) : [];
}

/** Whether a client that sent this Accept-Encoding knows the coding; what it did not ask for it may take for a file. */
export function isAskedFor(coding: ContentCoding, acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  return acceptEncoding.split(',').some((one) => {
    const [name, ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
    return (
      contentCodings.get(name!) === coding && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter))
    );
  });
}

/** What a decoder of node:zlib can do, whatever it decodes. */
type Decoder = Pick<
  Gunzip,
  'write' | 'end' | 'on' | 'pause' | 'resume' | 'destroy' | 'readableLength' | 'bytesWritten'
>;

const decoderOptions = { chunkSize: 64 * 1024, writableHighWaterMark: 128 * 1024, readableHighWaterMark: 64 * 1024 };

export interface DecodeEvents {
  /** So many coded bytes have been read, and all that they hold was passed on. */
  onRead(codedBytes: number): void;
  /** It does not decode, or goes on after its end. */
  onBroken(error: Error): void;
}

/** A writer of coded bytes, whose content goes to `to`. */
export class DecodingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #to: BodyWriter;
  readonly #coding: ContentCoding;
  readonly #events: DecodeEvents | null;
  #decoder: Decoder | null = null;
  /** The first byte of a deflate body: the second tells in which of two forms it is. */
  #first: Buffer | null = null;
  #unread = 0;
  #codedBytes = 0;
  #readBytes = 0;
  #trailers: HeaderList | null = null;
  /** The content is whole; what comes after it cannot be read. */
  #contentOver = false;
  #ending = false;
  #over = false;

  /** Without `events` an answer that does not decode fails, and what comes after its content is dropped. */
  constructor(to: BodyWriter, coding: ContentCoding, events: DecodeEvents | null = null) {
    this.#to = to;
    this.#coding = coding;
    this.#events = events;
    to.onDrain = () => this.#decoder?.resume();
  }

  write(chunk: Buffer): boolean {
    if (this.#over || chunk.length === 0) return true;
    this.#codedBytes += chunk.length;
    if (this.#contentOver) {
      this.#checkRest();
      return true;
    }
    if (this.#decoder !== null) return this.#feed(chunk);
    const bytes = this.#first === null ? chunk : Buffer.concat([this.#first, chunk]);
    if (this.#coding === 'deflate' && bytes.length === 1) {
      this.#first = Buffer.from(bytes);
      return true;
    }
    return this.#begin(bytes);
  }

  flush(): void {
    if (!this.#over) this.#to.flush();
  }

  end(trailers: HeaderList | null): void {
    if (this.#over || this.#ending) return;
    this.#ending = true;
    this.#trailers = trailers;
    if (this.#decoder === null && this.#first !== null) this.#begin(this.#first);
    // Nothing at all came: servers do that, and clients take it for an empty answer.
    if (this.#contentOver || this.#decoder === null) this.#finish();
    else this.#decoder.end();
  }

  /** Also after the end: what is below may still be at work. */
  fail(reason: Error): void {
    if (!this.#over) this.#decoder?.destroy();
    this.#over = true;
    this.#to.fail(reason);
  }

  #begin(bytes: Buffer): boolean {
    const decoder: Decoder = openDecoder(this.#coding, bytes);
    decoder.on('drain', () => this.#drained());
    decoder.on('data', (piece: Buffer) => {
      if (this.#over) return;
      if (!this.#to.write(piece)) decoder.pause();
      this.#noteRead();
    });
    decoder.on('end', () => this.#endContent());
    decoder.on('error', (error) => this.#break(error));
    this.#decoder = decoder;
    return this.#feed(bytes);
  }

  #feed(bytes: Buffer): boolean {
    const codedEnd = this.#codedBytes;
    this.#unread++;
    return this.#decoder!.write(bytes, (error) => {
      if (error) return;
      this.#unread--;
      this.#readBytes = codedEnd;
      this.#noteRead();
    });
  }

  #noteRead(): void {
    if (this.#over || this.#decoder!.readableLength > 0) return;
    this.#events?.onRead(this.#readBytes);
    // Somebody may be waiting for just this event: what is below must not sit on it.
    if (this.#unread === 0 && !this.#over) this.#to.flush();
  }

  #endContent(): void {
    if (this.#over) return;
    this.#contentOver = true;
    this.#checkRest();
    if (this.#ending) this.#finish();
    else this.#drained();
  }

  #checkRest(): void {
    if (this.#events === null || this.#codedBytes === this.#decoder!.bytesWritten) return;
    this.#break(new Error('a compressed body goes on after its end'));
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#events?.onRead(this.#codedBytes);
    this.#to.end(this.#trailers);
  }

  #break(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#events === null) this.#to.fail(error);
    else this.#events.onBroken(error);
    // Whoever waits for room would wait for ever.
    this.#drained();
  }

  /** Not after the end: the connection that brought the answer may be in other hands by then. */
  #drained(): void {
    if (!this.#ending) this.onDrain?.();
  }
}

/** `first`: at least two bytes, where there are two. */
function openDecoder(coding: ContentCoding, first: Buffer): Decoder {
  if (coding === 'br') return createBrotliDecompress(decoderOptions);
  if (coding === 'gzip') return createGunzip(decoderOptions);
  return isZlibForm(first) ? createInflate(decoderOptions) : createInflateRaw(decoderOptions);
}
