// Finds a credential in bytes, in any of its forms, without looking at most of them: whatever is at least so long must
// cover one of the places that are looked at, and what stands there is nearly never a piece of it.
import { isEscape, matchForm, mayEscape, nothing, shortEscapes } from './match-form.ts';
import { type Form, formsOf } from './secret-forms.ts';

/** Pieces of this many bytes are compared first. */
const pieceBytes = 4;
/** The longest escape is \u0000: a piece may begin as far as this behind the byte that shows it. */
const escapeReach = 5;
const tableBits = 16;
const escapeSigns = Uint8Array.from({ length: 256 }, (_, byte) => (isEscape(byte) ? 1 : 0));

export class SecretSearch {
  /** Where the last find() found one, and where it ends; `end` is `unfinished` when the bytes end first. */
  start = 0;
  end = 0;
  readonly minBytes: number;
  readonly #forms: readonly Form[];
  readonly #stride: number;
  /** A bit for each piece that occurs unescaped in a form. Others share bits: then it is looked at closely in vain. */
  readonly #pieces = new Uint8Array(1 << (tableBits - 3));
  /** 1 for every byte that a form may begin with, unescaped. */
  readonly #beginnings = new Uint8Array(256);
  readonly #escapes: Uint8Array;

  constructor(value: Buffer) {
    this.#forms = formsOf(value);
    this.#escapes = shortEscapes(this.#forms);
    this.minBytes = Math.min(...this.#forms.map(({ first }) => first.length));
    this.#stride = this.minBytes - pieceBytes + 1;
    for (const form of this.#forms) {
      this.#beginnings[form.first[0]!] = 1;
      this.#beginnings[form.second[0]!] = 1;
      for (let i = 0; i + pieceBytes <= form.first.length; i++) this.#addPieces(form, i, 0, 0);
    }
  }

  /** True: there is one at `start`. The first one from `from` on; an unfinished one only where nothing stands before it. */
  find(bytes: Buffer, from: number): boolean {
    const stride = this.#stride;
    let next = from;
    for (let at = from + stride - 1; at + pieceBytes <= bytes.length; at += stride) {
      if (this.#isSuspect(bytes, at, from) && this.#findBetween(bytes, next, at + 1)) return true;
      next = at + 1;
    }
    return this.#findBetween(bytes, next, bytes.length);
  }

  /** One that begins in [from, to). */
  #findBetween(bytes: Buffer, from: number, to: number): boolean {
    const beginnings = this.#beginnings;
    const escapes = this.#escapes;
    for (let at = from; at < to; at++) {
      if (beginnings[bytes[at]!] === 0 && !mayEscape(bytes, at, escapes)) continue;
      if (this.#standsAt(bytes, at)) return true;
    }
    return false;
  }

  #standsAt(bytes: Buffer, at: number): boolean {
    let end = nothing;
    for (const form of this.#forms) end = Math.max(end, matchForm(bytes, at, form));
    if (end === nothing) return false;
    this.start = at;
    this.end = end;
    return true;
  }

  /** Could one cover the piece at `at`? Nearly always two looks say no. */
  #isSuspect(bytes: Buffer, at: number, from: number): boolean {
    const piece = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    if (this.#isPiece(piece)) return true;
    const first = at - escapeReach;
    if (first >= from && !hasEscape(bytes, first)) return false;
    for (let i = Math.max(from, first); i < at + pieceBytes; i++) if (mayEscape(bytes, i, this.#escapes)) return true;
    return false;
  }

  #isPiece(piece: number): boolean {
    const place = placeOf(piece);
    return (this.#pieces[place >>> 3]! & (1 << (place & 7))) !== 0;
  }

  #addPieces({ first, second }: Form, from: number, count: number, piece: number): void {
    if (count === pieceBytes) {
      const place = placeOf(piece);
      this.#pieces[place >>> 3]! |= 1 << (place & 7);
      return;
    }
    const at = from + count;
    const shift = count * 8;
    this.#addPieces({ first, second }, from, count + 1, piece | (first[at]! << shift));
    if (first[at] === second[at]) return;
    this.#addPieces({ first, second }, from, count + 1, piece | (second[at]! << shift));
  }
}

/** Fibonacci hashing: the high bits of a product with 2^32 / golden ratio. */
function placeOf(piece: number): number {
  return Math.imul(piece, 0x9e3779b1) >>> (32 - tableBits);
}

/** Is a sign of an escape among the nine bytes from here? Written out: this is asked at every place that is looked at. */
function hasEscape(bytes: Buffer, at: number): boolean {
  const any =
    escapeSigns[bytes[at]!]! |
    escapeSigns[bytes[at + 1]!]! |
    escapeSigns[bytes[at + 2]!]! |
    escapeSigns[bytes[at + 3]!]! |
    escapeSigns[bytes[at + 4]!]! |
    escapeSigns[bytes[at + 5]!]! |
    escapeSigns[bytes[at + 6]!]! |
    escapeSigns[bytes[at + 7]!]! |
    escapeSigns[bytes[at + 8]!]!;
  return any !== 0;
}
