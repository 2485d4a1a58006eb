// The lines of the journal that wait to be written, as the bytes that will stand in the file: each is encoded once, and what
// is hashed is what is written. Two blocks take turns, so that a block whose bytes are not known to be in the file is never
// written over. Knows nothing of records or of the disk.
const leastBlockBytes = 16 * 1024;
/** What had to grow while the disk failed is not kept. */
const mostKeptBytes = 1024 * 1024;
const lineFeed = 0x0a;

export class QueuedLines {
  /** How many lines wait. */
  count = 0;
  #block: Buffer = Buffer.allocUnsafeSlow(leastBlockBytes);
  #bytes = 0;
  #nextBytes = 0;
  /** Null: it was taken and not given back. */
  #spare: Buffer | null = null;

  /** The line as it will be written, without its end: not yet one of those that wait, and gone with the next that is tried. */
  try(line: string): Buffer {
    // A character takes three bytes at most.
    const needed = this.#bytes + line.length * 3 + 1;
    if (needed > this.#block.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#block.length));
      this.#block.copy(grown, 0, 0, this.#bytes);
      this.#block = grown;
    }
    this.#nextBytes = this.#block.write(line, this.#bytes, 'utf8');
    return this.#block.subarray(this.#bytes, this.#bytes + this.#nextBytes);
  }

  /** What was tried last is one of them now. */
  add(): void {
    this.#bytes += this.#nextBytes;
    this.#block[this.#bytes++] = lineFeed;
    this.count++;
  }

  /** All that wait, to be given back when they are in the file. */
  take(): Buffer {
    const taken = this.#block.subarray(0, this.#bytes);
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(leastBlockBytes);
    this.#spare = null;
    this.#bytes = 0;
    this.count = 0;
    return taken;
  }

  giveBack({ buffer }: Buffer): void {
    if (buffer.byteLength <= mostKeptBytes) this.#spare = Buffer.from(buffer);
  }
}
