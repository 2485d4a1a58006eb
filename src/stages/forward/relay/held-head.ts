// The part of an answer's head that has arrived so far. A head that arrives byte by byte is neither parsed from its start nor
// copied for every byte.
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';

const lineFeed = 0x0a;
const worthATry = 1024;

export class HeldHead {
  readonly #held = new GatheredBytes();
  #triedBytes = 0;
  #isEmpty = true;

  /** Nothing was ever kept: not even an interim answer has come. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** All that has come, when it is worth a try; null: wait for more. */
  add(chunk: Buffer): Buffer | null {
    if (this.#held.length === 0) return chunk;
    this.#held.add(chunk);
    const isWorthATry = chunk.includes(lineFeed) || this.#held.length - this.#triedBytes >= worthATry;
    return isWorthATry ? this.#held.view() : null;
  }

  /** It was tried and goes on. `bytes`: what `add` gave, or the end of it. */
  keep(bytes: Buffer): void {
    this.#isEmpty = false;
    this.#triedBytes = bytes.length;
    if (bytes.length === this.#held.length) return;
    this.#held.take();
    this.#held.add(bytes);
  }
}
