// Which pieces of four bytes occur at the beginnings of forms: three bits of one word for each, found by hashing. A
// yes may be wrong, a no never is: it only decides where to look closely. It grows with what is added, so that wrong yeses stay
// rare, but no further: a table that does not fit the processor's cache costs more than a few wrong yeses.
const leastWords = 2 ** 11;
const mostWords = 2 ** 19;
/** So many pieces to a word at most: one look in a hundred is in vain then. */
const piecesInWord = 2;

export class SecretPieces {
  /** The word of a piece is number hashOf(piece, shift), and all bits of maskOf(piece) are set in it. */
  words = new Int32Array(leastWords);
  shift = 32 - Math.log2(leastWords);
  /** Another whenever something was added. */
  version = 0;
  /** Those that must be put into a larger table; none when there will be no larger one. */
  #pieces: number[] = [];

  add(piece: number): void {
    this.version++;
    this.#mark(piece);
    if (this.words.length === mostWords) return;
    this.#pieces.push(piece);
    if (this.#pieces.length > piecesInWord * this.words.length) this.#grow();
  }

  has(piece: number): boolean {
    const mask = maskOf(piece);
    return (this.words[hashOf(piece, this.shift)]! & mask) === mask;
  }

  #mark(piece: number): void {
    this.words[hashOf(piece, this.shift)]! |= maskOf(piece);
  }

  #grow(): void {
    this.shift--;
    this.words = new Int32Array(2 * this.words.length);
    for (const piece of this.#pieces) this.#mark(piece);
    if (this.words.length === mostWords) this.#pieces = [];
  }
}

/** Fibonacci hashing: the high bits of a product with 2^32 / golden ratio. */
export function hashOf(piece: number, shift: number): number {
  return Math.imul(piece, 0x9e3779b1) >>> shift;
}

/** Of another product: bits of the same one would follow from the word. */
export function maskOf(piece: number): number {
  const hash = Math.imul(piece, 0x85ebca6b);
  return (1 << (hash >>> 27)) | (1 << (hash >>> 22)) | (1 << (hash >>> 17));
}
