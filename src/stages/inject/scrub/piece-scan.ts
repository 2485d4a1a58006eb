// Runs the inner loop of the search for credentials in WebAssembly: it compares sixteen bytes at a time, which JavaScript
// cannot. The code is piece-scan.wat, assembled; bytes and tables are copied into its memory. There is one for the whole
// process, since each such memory reserves gigabytes of addresses. It keeps no bytes: the next that come overwrite them.
import type { SecretPieces } from './secret-pieces.ts';

/** piece-scan.wat, as a test assembles it too. */
export const assembled =
  'AGFzbQEAAAABCgFgBX9/f39/AX8DAgEABQMBACIGBgF/AUEACwcYAwZtZW1vcnkCAARuZXh0AwAEc2NhbgAACpoCAZcCAwN/AXsEfwNAIAAgAUoEQCAAJABBfw8LIAAgAmpBAWshBSAFIAFKBEAgASEFCyAFIQZBBCEHAkADQCAGQQxr/QAEACEIIAhBJf0P/SMgCEEm/Q/9I/1QIAhB3AD9D/0j/VD9ZEHw/wNxIAhBCv0P/SP9ZEGA4ANxciAIQQ39D/0j/WRBgIACcXIhCSAJRQ0BIAYgCWhqQRBrIQYgB0EBayEHIAdBAEogBiAATnENAAsgACQAIAUPCyAGKAIAIQogCkHrlK+veGwhC0EBIAtBG3Z0QQEgC0EWdnRyQQEgC0ERdnRyIQwgAyAKQbHz3fF5bCAEdkECdGooAgAgDHEgDEYEQCAAJAAgBg8LIAZBAWohAAwACwAL';

/** How much is copied in at a time: what is searched should still be in the processor's nearer caches. */
export const blockBytes = 64 * 1024;
/** Before the bytes: a window may begin before them. Nothing but zeros is ever written there. */
export const beforeBytes = 16;
const tablesAt = 2 * blockBytes;
const tables = 4;
const tableBytes = 512 * 1024;

/** What is used of the types of the web, which a program for Node does not load. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: unknown };
};

interface Code {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly next: { readonly value: number };
  readonly scan: (next: number, last: number, stride: number, words: number, shift: number) => number;
}

export class PieceScan {
  /** How far the last scan() got: nothing begins before this place. */
  next = 0;
  readonly #code: Code;
  readonly #bytes: Buffer;
  /** Whose table lies where, and which state of it. */
  readonly #pieces: (SecretPieces | null)[] = Array.from({ length: tables }, () => null);
  readonly #versions: number[] = Array.from({ length: tables }, () => -1);
  #oldest = 0;
  /** What the places in memory are further on than those in the bytes. */
  #shift = 0;

  constructor() {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(assembled, 'base64')));
    this.#code = exports as Code;
    this.#bytes = Buffer.from(this.#code.memory.buffer);
  }

  /** Where its table lies; -1: it is too large for any place. */
  place(pieces: SecretPieces): number {
    let slot = this.#pieces.indexOf(pieces);
    if (slot >= 0 && this.#versions[slot] === pieces.version) return placeOf(slot);
    if (pieces.words.byteLength > tableBytes) return -1;
    if (slot < 0) {
      slot = this.#oldest;
      this.#oldest = (slot + 1) % tables;
    }
    this.#pieces[slot] = pieces;
    this.#versions[slot] = pieces.version;
    const { buffer, byteOffset, byteLength } = pieces.words;
    this.#bytes.set(new Uint8Array(buffer, byteOffset, byteLength), placeOf(slot));
    return placeOf(slot);
  }

  /** The bytes of [from, to), and those just before. */
  load(bytes: Buffer, from: number, to: number): void {
    const first = Math.max(0, from - beforeBytes);
    bytes.copy(this.#bytes, beforeBytes, first, to);
    this.#shift = beforeBytes - first;
  }

  /** In what was loaded: where something may stand that begins in [`next`, that place], from `from` to `last`; -1: nowhere. */
  scan(from: number, last: number, stride: number, table: number, shift: number): number {
    const at = this.#code.scan(from + this.#shift, last + this.#shift, stride, table, shift);
    this.next = this.#code.next.value - this.#shift;
    return at < 0 ? at : at - this.#shift;
  }
}

function placeOf(slot: number): number {
  return tablesAt + slot * tableBytes;
}

let shared: PieceScan | null | undefined;

/** Null: this processor, or this way of running Node (--jitless), has none. The search is slower then, and finds the same. */
export function sharedPieceScan(): PieceScan | null {
  if (shared === undefined) {
    try {
      shared = new PieceScan();
    } catch {
      shared = null;
    }
  }
  return shared;
}
