// Decompresses one object of a pack and says where it ends: small ones in one call, large ones piece by piece without
// ever holding them. An object must be exactly as long as it claims, and not padded beyond what compression can need.
import { createInflate, type Inflate, inflateSync, type ZlibOptions } from 'node:zlib';
import { GitWireError } from '../git-wire-error.ts';

/** Up to here one synchronous call costs less than a round through the thread pool. */
export const SMALL_OBJECT_BYTES = 64 * 1024;
/** As much as is mostly fed at a time: what does not shrink comes out in one round. */
const PIECE_BYTES = 256 * 1024;
/** zlib's smallest output buffer. */
const MIN_PIECE_BYTES = 64;

/**
 * The most that any zlib compressor writes for this many bytes (deflateBound, with room for small stored blocks).
 * A stream can be padded with empty blocks without end; nobody does it who means well.
 */
export function compressedBound(size: number): number {
  return size + Math.ceil(size / 8) + Math.ceil(size / 64) + 64;
}

/** Null when the bytes end before the object does. */
export function inflateSmall(bytes: Buffer, size: number): { content: Buffer; consumed: number } | null {
  const bound = compressedBound(size);
  const input = bytes.length > bound ? bytes.subarray(0, bound) : bytes;
  // One byte more than announced, so that an object that is too long shows itself in the first round.
  const options: ZlibOptions = {
    info: true,
    chunkSize: Math.max(MIN_PIECE_BYTES, size + 1),
    maxOutputLength: size + 1,
  };
  try {
    const done = inflateSync(input, options) as unknown as { buffer: Buffer; engine: Inflate };
    if (done.buffer.length !== size) throw wrongSize();
    return { content: done.buffer, consumed: done.engine.bytesWritten };
  } catch (error) {
    if (!isZlibError(error)) throw error;
    if (error.code === 'ERR_BUFFER_TOO_LARGE') throw wrongSize();
    if (error.code !== 'Z_BUF_ERROR') throw notCompressed();
    if (bytes.length >= bound) throw padded();
    return null;
  }
}

/** One large object, fed as it arrives. What comes out goes to `take` and is not kept. */
export class StreamInflater {
  readonly #inflate = createInflate({ chunkSize: PIECE_BYTES });
  readonly #size: number;
  #produced = 0;
  #ended = false;
  #wake: () => void = () => {};
  #failure: Error | null = null;

  constructor(size: number, take: (piece: Buffer) => void) {
    this.#size = size;
    this.#inflate.on('data', (piece: Buffer) => {
      this.#produced += piece.length;
      if (this.#produced > size) this.#fail(wrongSize());
      else if (this.#failure === null) take(piece);
    });
    this.#inflate.on('end', () => {
      this.#ended = true;
      this.#wake();
    });
    this.#inflate.on('error', (error) => this.#fail(isZlibError(error) ? notCompressed() : error));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** How many of the bytes belong to the object; fewer than all of them when it has ended. */
  async write(bytes: Buffer): Promise<number> {
    const before = this.#inflate.bytesWritten;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#failure === null) this.#inflate.write(bytes, () => resolve());
      else resolve();
    });
    const consumed = this.#inflate.bytesWritten - before;
    // zlib leaves bytes untouched only behind the end of its stream; what came out is complete when `end` says so.
    if (consumed < bytes.length && !this.#ended && this.#failure === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#inflate.bytesWritten > compressedBound(this.#size)) this.#fail(padded());
    if (this.#ended && this.#produced !== this.#size) this.#fail(wrongSize());
    if (this.#failure !== null) throw this.#failure;
    if (this.#ended) this.#inflate.destroy();
    return consumed;
  }

  destroy(): void {
    this.#fail(new Error('the object was given up half-way'));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#inflate.destroy();
    this.#wake();
  }
}

function isZlibError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

function wrongSize(): GitWireError {
  return new GitWireError('malformed', 'an object in the pack is not as long as it claims');
}

function notCompressed(): GitWireError {
  return new GitWireError('malformed', 'an object in the pack is not valid compressed data');
}

function padded(): GitWireError {
  return new GitWireError('malformed', 'an object in the pack takes more bytes compressed than it could need');
}
