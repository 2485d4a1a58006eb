// Finds credentials in bytes, in any of their forms and however many there are, without looking closely at most bytes. Every
// form is long enough that its beginning covers a position where a piece is compared; an escaped form shows an escape sign.
import { byteOfEscape, bytesOfEscape, lineEnd, maxEscapeBytes, readEscape, signs, unfinished } from './match-form.ts';
import { blockBytes, sharedPieceScan } from './piece-scan.ts';
import { type Form, formsOf, minSecretBytes } from './secret-forms.ts';
import { hashOf, maskOf, SecretPieces } from './secret-pieces.ts';
import { SecretTree } from './secret-tree.ts';

export interface SecretPattern<L> {
  readonly bytes: Buffer;
  readonly label: L;
}

/** From one place that is looked at to the next, at most: where there are many, their pieces must not fill the table. */
const strides: readonly (readonly [patterns: number, stride: number])[] = [
  [4, 128],
  [32, 64],
  [Number.POSITIVE_INFINITY, 32],
];
const pieceBytes = 4;
/** To copy less into the other memory costs more than to look here. */
const leastScannedBytes = 2048;
const leastBlockBytes = 4096;
/** After so few looks it came back: for so many more it is not gone there again. */
const denseLooks = 4;
const looksApart = 32;
/** What may lie between two characters of a piece: more line ends than one in a row end a form. */
const maxReads = 2 * pieceBytes;

export class SecretSearch<L> {
  /** Where the last find() found one, and where it ends: `unfinished` when the bytes end first. */
  start = 0;
  end = 0;
  /** More bytes could make it a longer one. */
  open = false;
  /** Nothing shorter is found. */
  minBytes = Number.POSITIVE_INFINITY;
  size = 0;
  readonly #tree = new SecretTree<L>();
  /** Of the beginnings of forms, so far as a stride reaches; and those with which a form begins. */
  readonly #pieces = new SecretPieces();
  readonly #firstPieces = new SecretPieces();
  /** 1 for every byte that a form may begin with, unescaped. */
  readonly #beginnings = new Uint8Array(256);
  /** 1 for every byte that is in a piece. */
  readonly #letters = new Uint8Array(256);
  /** 1 for every sign of an escape that is part of a form itself. */
  readonly #ownSigns = new Uint8Array(256);
  #stride = Number.POSITIVE_INFINITY;
  readonly #leastScanned: number;
  #label: L | null = null;
  #viewed: Buffer | null = null;
  #view: DataView | null = null;

  /** `leastScanned`: of so many bytes at least the faster loop looks through them, which must find the same. */
  constructor(patterns: Iterable<SecretPattern<L>> = [], leastScanned = leastScannedBytes) {
    this.#leastScanned = leastScanned;
    for (const { bytes, label } of patterns) this.add(bytes, label);
  }

  /** Of the longest at `start`. Only after a find() that was true. */
  get label(): L {
    return this.#label as L;
  }

  /** What is shorter than minSecretBytes is not taken. Costs the same however many there are. */
  add(bytes: Buffer, label: L): void {
    if (bytes.length < minSecretBytes) return;
    this.size++;
    const forms = formsOf(bytes);
    this.minBytes = Math.min(this.minBytes, ...forms.map((form) => form.bytes.length));
    const [, stride] = strides.find(([patterns]) => this.size <= patterns)!;
    this.#stride = Math.min(this.#stride, stride, this.minBytes - pieceBytes + 1);
    for (const form of forms) {
      this.#tree.add({ ...form, label });
      this.#addBeginning(form);
    }
  }

  /** True: there is one at `start`. The one with the smallest start, from `from` on. */
  find(bytes: Buffer, from: number): boolean {
    let next = from;
    if (from <= bytes.length - pieceBytes && this.size > 0) {
      next =
        bytes.length - from < this.#leastScanned
          ? this.#look(bytes, from, bytes.length - pieceBytes)
          : this.#scan(bytes, from);
      if (next < 0) return true;
    }
    return this.#findBetween(bytes, next, bytes.length);
  }

  /** Looks from place to place, the last at `last`. -1: one is found; else none begins before what is returned. */
  #look(bytes: Buffer, from: number, last: number): number {
    const stride = this.#stride;
    const view = this.#viewOf(bytes);
    const { words, shift } = this.#pieces;
    let next = from;
    while (next <= last) {
      // The last stride is as short as what is left.
      const at = Math.min(next + stride - 1, last);
      const piece = view.getInt32(at, true);
      const mask = maskOf(piece);
      const isNear = (words[hashOf(piece, shift)]! & mask) === mask;
      next = isNear || mayBeEscaped(view, at, piece) ? this.#lookClosely(bytes, next, at, isNear) : at + 1;
      if (next < 0) break;
    }
    return next;
  }

  /** The same, far faster where there is much: see piece-scan.ts. */
  #scan(bytes: Buffer, from: number): number {
    const scan = sharedPieceScan();
    const pieces = this.#pieces;
    const table = scan === null ? -1 : scan.place(pieces);
    if (scan === null || table < 0) return this.#look(bytes, from, bytes.length - pieceBytes);
    const stride = this.#stride;
    let next = from;
    // Bytes full of what is found are gone through again and again from behind each find: not all of them is copied then.
    for (let block = from === 0 ? blockBytes : leastBlockBytes, to = 0; to < bytes.length; block *= 2) {
      to = Math.min(bytes.length, next + Math.min(block, blockBytes));
      const last = to - pieceBytes;
      scan.load(bytes, next, to);
      for (;;) {
        const begun = next;
        const at = scan.scan(next, last, stride, table, pieces.shift);
        next = scan.next;
        if (at < 0) break;
        next = this.#lookClosely(bytes, next, at, pieces.has(pieceAt(bytes, at)));
        // Full of escapes: to go there and back for every look costs more than the looks.
        const isDense = at - begun < denseLooks * stride;
        if (isDense && next >= 0) next = this.#look(bytes, next, Math.min(last, next + looksApart * stride));
        if (next < 0) return next;
      }
    }
    return next;
  }

  /** At `at` something may stand that begins in [from, at]. Returns as #look() does. */
  #lookClosely(bytes: Buffer, from: number, at: number, isNear: boolean): number {
    const clear = isNear ? -1 : this.#clearOfEscaped(bytes, from, at);
    if (clear >= 0) return clear + 1;
    return this.#findBetween(bytes, from, at + 1) ? -1 : at + 1;
  }

  /**
   * A place that no form covers which begins in [from, that place]: `at`, or the nearest sign before it, whose escape may
   * reach over it. -1: there may be one. A sign inside another's escape is a backslash or none, and is then its own sign.
   */
  #clearOfEscaped(bytes: Buffer, from: number, at: number): number {
    const least = Math.max(from, at - maxEscapeBytes + 1);
    let sign = at - 1;
    while (sign >= least && signs[bytes[sign]!] !== 2) sign--;
    const here = sign < least ? at : sign;
    return this.#isSpelledPiece(bytes, here, this.#pieces) ? -1 : here;
  }

  /** The piece that begins at `at` when escapes are read and line ends left out. True also when it cannot be told. */
  #isSpelledPiece(bytes: Buffer, at: number, pieces: SecretPieces): boolean {
    let piece = 0;
    let bits = 0;
    let here = at;
    for (let reads = 0; reads < maxReads; reads++) {
      if (here >= bytes.length) return true;
      let value = bytes[here]!;
      if (signs[value] === 0) here++;
      else {
        if (this.#ownSigns[value] === 1) return true;
        const token = readEscape(bytes, here);
        if (token < 0) return token === unfinished;
        value = byteOfEscape(token);
        here += bytesOfEscape(token);
        if (value === lineEnd) continue;
      }
      if (this.#letters[value] === 0) return false;
      piece |= value << bits;
      bits += 8;
      if (bits === 8 * pieceBytes) return pieces.has(piece);
    }
    return false;
  }

  /** One that begins in [from, to). */
  #findBetween(bytes: Buffer, from: number, to: number): boolean {
    const first = this.#firstPieces;
    const lastPiece = bytes.length - pieceBytes;
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (signs[byte] !== 2 && this.#beginnings[byte] === 0) continue;
      if (at <= lastPiece) {
        const near = signs[byte]! | signs[bytes[at + 1]!]! | signs[bytes[at + 2]!]! | signs[bytes[at + 3]!]!;
        if (near === 0 ? !first.has(pieceAt(bytes, at)) : !this.#isSpelledPiece(bytes, at, first)) continue;
      }
      if (this.#standsAt(bytes, at)) return true;
    }
    return false;
  }

  #standsAt(bytes: Buffer, at: number): boolean {
    const tree = this.#tree;
    if (!tree.walk(bytes, at)) return false;
    this.start = at;
    this.end = tree.found === null ? unfinished : tree.end;
    this.open = tree.unfinished !== null;
    this.#label = (tree.found ?? tree.unfinished)!.label;
    return true;
  }

  #addBeginning({ bytes, kind }: Form): void {
    for (const byte of bytes) if (signs[byte] !== 0) this.#ownSigns[byte] = 1;
    for (let i = 0; i < this.#stride && i + pieceBytes <= bytes.length; i++) {
      this.#addPieces(bytes, i, 0, 0, kind === 'hex');
    }
  }

  /** Hexadecimal with each of its letters in either case. */
  #addPieces(bytes: Uint8Array, from: number, count: number, piece: number, eitherCase: boolean): void {
    if (count === pieceBytes) {
      this.#pieces.add(piece);
      for (let shift = 0; shift < 32; shift += 8) this.#letters[(piece >>> shift) & 0xff] = 1;
      if (from > 0) return;
      this.#firstPieces.add(piece);
      this.#beginnings[piece & 0xff] = 1;
      return;
    }
    const byte = bytes[from + count]!;
    this.#addPieces(bytes, from, count + 1, piece | (byte << (8 * count)), eitherCase);
    if (!eitherCase || byte < 0x61) return;
    this.#addPieces(bytes, from, count + 1, piece | ((byte - 0x20) << (8 * count)), eitherCase);
  }

  /** A search goes on in the same bytes behind what it found. */
  #viewOf(bytes: Buffer): DataView {
    if (this.#viewed !== bytes || this.#view === null) {
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      this.#viewed = bytes;
    }
    return this.#view;
  }
}

/** Is there a sign in or close before the piece at `at`? Sometimes in vain: true also for $ and an apostrophe. */
function mayBeEscaped(view: DataView, at: number, piece: number): boolean {
  if (at < maxEscapeBytes) return true;
  const newline = piece ^ 0x0a0a0a0a;
  const any =
    signsIn(view.getInt32(at - 8, true)) |
    signsIn(view.getInt32(at - 4, true)) |
    signsIn(piece) |
    ((newline - 0x01010101) & ~newline);
  // The first half of a line end may stand at the end of the piece.
  return (any & 0x80808080) !== 0 || piece >>> 24 === 0x0d;
}

/** Has the high bit of a byte set where one of four bytes is a sign of an escape; other bits mean nothing. */
function signsIn(word: number): number {
  const reference = (word & 0xfcfcfcfc) ^ 0x24242424;
  const backslash = word ^ 0x5c5c5c5c;
  return ((reference - 0x01010101) & ~reference) | ((backslash - 0x01010101) & ~backslash);
}

/** The piece at `at`, as DataView.getInt32() reads it in little-endian order. */
function pieceAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
