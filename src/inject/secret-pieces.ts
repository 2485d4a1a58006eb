// Which pieces of four bytes occur at the beginnings of forms: a bit for each, found by hashing. It may say yes in vain,
// never no: it decides only where to look closely. Grows with what is added, so that it stays right to say no mostly.

export const pieceBytes = 4;

const leastBits = 16;
const mostBits = 24;
/** So many bits for each piece, so that one look in so many is in vain at worst: those cost more than the memory. */
const bitsEach = 64;

export class SecretPieces {
  /** The bit of a piece is number hashOf(piece, shift). */
  bits = new Int32Array(1 << (leastBits - 5));
  shift = 32 - leastBits;
  readonly #pieces: number[] = [];

  add(piece: number): void {
    this.#pieces.push(piece);
    const capacity = 2 ** (32 - this.shift);
    if (this.#pieces.length * bitsEach > capacity && 32 - this.shift < mostBits) this.#grow();
    else this.#mark(piece);
  }

  has(piece: number): boolean {
    const place = hashOf(piece, this.shift);
    return (this.bits[place >>> 5]! & (1 << (place & 31))) !== 0;
  }

  #mark(piece: number): void {
    const place = hashOf(piece, this.shift);
    this.bits[place >>> 5]! |= 1 << (place & 31);
  }

  #grow(): void {
    this.shift -= 2;
    this.bits = new Int32Array(2 ** (32 - this.shift - 5));
    for (const piece of this.#pieces) this.#mark(piece);
  }
}

/** Fibonacci hashing: the high bits of a product with 2^32 / golden ratio. */
export function hashOf(piece: number, shift: number): number {
  return Math.imul(piece, 0x9e3779b1) >>> shift;
}

/** The piece at `at`, as DataView.getInt32() reads it in little-endian order. */
export function pieceAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
