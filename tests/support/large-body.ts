// Bodies too large to be held: poured as fast as they are taken, counted as they come, and remembered nowhere.
import type { Readable, Writable } from 'node:stream';

const piece = Buffer.alloc(64 * 1024, 'the same bytes again and again. ');

/** Writes so many bytes; `size` is a multiple of 64 KiB. */
export async function pour(into: Writable, size: number, count: (bytes: number) => void): Promise<void> {
  for (let left = size; left > 0; left -= piece.length) {
    count(piece.length);
    if (!into.write(piece)) await new Promise((resolve) => into.once('drain', resolve));
  }
}

/** Counts what comes until the end of the source, or until it is the whole body. */
export function drink(from: Readable, size: number, already = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = already;
    from.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= size) resolve(bytes);
    });
    from.on('end', () => resolve(bytes));
    from.on('error', reject);
    from.resume();
  });
}
