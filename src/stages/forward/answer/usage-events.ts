// The documents of JSON in the body of an answer: one, a list, one after the other, or one in every event of a stream
// (text/event-stream). Told apart by how it begins, because a client has a say in what an answer calls itself. Keeps
// the name of one field at most.
import type { UsageScan } from './usage-scan.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const maxNameBytes = 8;
/** A byte order mark and white space may stand before anything. */
const beforeAnything: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, lineFeed, carriageReturn]);

export class UsageEvents {
  readonly #scan: UsageScan;
  #form: 'json' | 'events' | null = null;
  /** Of the line that is under way; null: its name is known. */
  #name: string | null = '';
  #isData = false;

  constructor(scan: UsageScan) {
    this.#scan = scan;
  }

  feed(chunk: Buffer): void {
    let at = 0;
    if (this.#form === null) {
      while (at < chunk.length && beforeAnything.has(chunk[at]!)) at++;
      if (at === chunk.length) return;
      this.#form = chunk[at] === 0x7b || chunk[at] === 0x5b ? 'json' : 'events';
    }
    if (this.#form === 'json') {
      this.#scan.feed(at === 0 ? chunk : chunk.subarray(at));
      return;
    }
    while (at < chunk.length) at = this.#name === null ? this.#takeValue(chunk, at) : this.#takeName(chunk, at);
  }

  #takeName(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === colon) {
        this.#isData = this.#name === 'data';
        this.#name = null;
        return at + 1;
      }
      if (byte === lineFeed) {
        // An empty line ends the event, and with it the document.
        if (this.#name === '') this.#scan.reset();
        this.#name = '';
      } else if (byte !== carriageReturn && this.#name!.length <= maxNameBytes) this.#name += String.fromCharCode(byte);
    }
    return chunk.length;
  }

  #takeValue(chunk: Buffer, from: number): number {
    const found = chunk.indexOf(lineFeed, from);
    const to = found < 0 ? chunk.length : found;
    if (this.#isData && to > from) this.#scan.feed(chunk.subarray(from, to));
    if (found < 0) return to;
    this.#name = '';
    return to + 1;
  }
}
