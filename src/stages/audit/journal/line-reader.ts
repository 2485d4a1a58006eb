// Reads a file line by line in large pieces, and can be asked again after its end when the file has grown. Hands
// out whole lines only: what follows the last newline is a write under way, or one that a crash cut short.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Far above the longest record; a longer line was not written by the journal. */
const maxLineBytes = 1024 * 1024;
const chunkBytes = 256 * 1024;

export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
}

export class LineReader {
  readonly #file: FileHandle;
  #position: number;
  #carry: Buffer = Buffer.alloc(0);

  private constructor(file: FileHandle, position: number) {
    this.#file = file;
    this.#position = position;
  }

  static async open(path: string, position = 0): Promise<LineReader> {
    return new LineReader(await open(path, constants.O_RDONLY | constants.O_NOFOLLOW), position);
  }

  /** Bytes after the last whole line. */
  get tornBytes(): number {
    return this.#carry.length;
  }

  /** The next lines, without their newlines; null at the end of what is there now. */
  async next(): Promise<Buffer[] | null> {
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await this.#file.read(chunk, 0, chunkBytes, this.#position);
      if (bytesRead === 0) return null;
      this.#position += bytesRead;
      const fresh = chunk.subarray(0, bytesRead);
      const bytes = this.#carry.length === 0 ? fresh : Buffer.concat([this.#carry, fresh]);
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
        lines.push(bytes.subarray(start, end));
        start = end + 1;
      }
      this.#carry = bytes.subarray(start);
      if (this.#carry.length > maxLineBytes) throw new LineTooLongError('a line is longer than any record');
      if (lines.length > 0) return lines;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The whole lines of a file from its last to its first, and where the last of them ends. */
export async function* readLinesBackwards(
  path: string,
): AsyncGenerator<{ readonly line: Buffer; readonly end: number }> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let position = (await file.stat()).size;
    let carry: Buffer = Buffer.alloc(0);
    let atEnd = true;
    while (position > 0) {
      const length = Math.min(chunkBytes, position);
      const chunk = Buffer.allocUnsafe(length);
      await file.read(chunk, 0, length, position - length);
      position -= length;
      let bytes = Buffer.concat([chunk, carry]);
      if (atEnd) {
        const whole = bytes.lastIndexOf(10) + 1;
        if (whole === 0 && position > 0) {
          carry = bytes;
          continue;
        }
        bytes = bytes.subarray(0, whole);
        atEnd = false;
      }
      let end = bytes.length;
      while (end > 0) {
        // The newline that ends this line is at end - 1; the one that ends the line before it is looked for.
        const start = end < 2 ? 0 : bytes.lastIndexOf(10, end - 2) + 1;
        if (start === 0 && position > 0) break;
        yield { line: bytes.subarray(start, end - 1), end: position + end };
        end = start;
      }
      carry = bytes.subarray(0, end);
    }
  } finally {
    await file.close();
  }
}
