// The beginning of an answer's head that has come so far. A head that drips in byte by byte is not parsed from its start
// for every byte.

const lineFeed = 0x0a;
const worthATry = 1024;

export class HeldHead {
  #bytes: Buffer | null = null;
  #triedBytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === null;
  }

  /** All that has come, when it is worth a try; null: wait for more. */
  add(chunk: Buffer): Buffer | null {
    const held = this.#bytes;
    this.#bytes = null;
    if (held === null) return chunk;
    const bytes = Buffer.concat([held, chunk]);
    if (chunk.includes(lineFeed) || bytes.length - this.#triedBytes >= worthATry) return bytes;
    this.#bytes = bytes;
    return null;
  }

  /** It was tried and goes on. */
  keep(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#triedBytes = bytes.length;
  }
}
