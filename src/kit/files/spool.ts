// Room on disk for bodies that must be read before they may go on. A file has no name from the moment it is open, so
// nothing is left behind however the process ends. All files together stay under one limit.
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

export class SpoolFull extends Error {
  override readonly name = 'SpoolFull';
}

export class Spool {
  readonly #directory: string;
  readonly #maxBytes: () => number;
  #bytes = 0;

  /** `directory` must exist and be private. */
  constructor(directory: string, maxBytes: () => number) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
  }

  /** What all open files hold. */
  get bytes(): number {
    return this.#bytes;
  }

  async open(): Promise<SpoolFile> {
    const path = join(this.#directory, randomBytes(16).toString('hex'));
    const handle = await open(path, 'wx+', 0o600);
    await unlink(path);
    return new SpoolFile(handle, (bytes) => this.#take(bytes));
  }

  #take(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes()) {
      throw new SpoolFull(`more than ${this.#maxBytes()} bytes of requests wait on disk`);
    }
    this.#bytes += bytes;
  }
}

export class SpoolFile {
  readonly #handle: FileHandle;
  readonly #take: (bytes: number) => void;
  #bytes = 0;
  #closed = false;

  constructor(handle: FileHandle, take: (bytes: number) => void) {
    this.#handle = handle;
    this.#take = take;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async write(chunk: Buffer): Promise<void> {
    if (this.#closed) throw new Error('the spool file is closed');
    this.#take(chunk.length);
    const at = this.#bytes;
    this.#bytes += chunk.length;
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#handle.write(chunk, done, chunk.length - done, at + done).catch(fullDisk);
      done += bytesWritten;
    }
  }

  /** Exactly `length` bytes from `position` on. */
  async readAt(position: number, length: number): Promise<Buffer> {
    const into = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await this.#handle.read(into, done, length - done, position + done);
      if (bytesRead === 0) throw new Error('the spool file is shorter than what is asked of it');
      done += bytesRead;
    }
    return into;
  }

  /** All of it, in pieces; the next is read while one is used. */
  async *chunks(pieceBytes = 256 * 1024): AsyncGenerator<Buffer> {
    const read = (at: number): Promise<Buffer> | null => {
      if (at >= this.#bytes) return null;
      const piece = this.readAt(at, Math.min(pieceBytes, this.#bytes - at));
      // Thrown when it is its turn.
      piece.catch(() => {});
      return piece;
    };
    let next = read(0);
    for (let at = pieceBytes; next !== null; at += pieceBytes) {
      const piece: Buffer = await next;
      next = read(at);
      yield piece;
    }
  }

  /** Gives the room back. May be called more than once. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#take(-this.#bytes);
    await this.#handle.close();
  }
}

function fullDisk(error: unknown): never {
  const code = (error as { code?: string }).code;
  if (code === 'ENOSPC' || code === 'EDQUOT') throw new SpoolFull('the disk of the gateway is full', { cause: error });
  throw error;
}
