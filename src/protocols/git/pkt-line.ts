// Git's framing: four hexadecimal digits of length, then the line. Read incrementally, so that any cut of the stream
// gives the same lines, and strictly: a length that means nothing is refused, because a reader that guesses there has
// lost its place, and from then on reads other commands than the server does.
import { GitWireError } from './git-wire-error.ts';

export type Pkt =
  | { readonly kind: 'data'; readonly payload: Buffer }
  | { readonly kind: 'flush' }
  | { readonly kind: 'delim' }
  | { readonly kind: 'response-end' };

export type PktDialect = 'v0' | 'v2';

/** gitprotocol-common: a pkt-line is at most 65520 bytes with its length. */
export const MAX_PKT_BYTES = 65520;
export const MAX_PKT_PAYLOAD = MAX_PKT_BYTES - 4;

export const flushPkt = Buffer.from('0000');
export const delimPkt = Buffer.from('0001');

const flush: Pkt = { kind: 'flush' };
const delim: Pkt = { kind: 'delim' };
const responseEnd: Pkt = { kind: 'response-end' };
const none = Buffer.alloc(0);

export function encodePkt(content: string | Buffer): Buffer {
  const payload = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  if (payload.length > MAX_PKT_PAYLOAD) {
    throw new GitWireError('too-large', `a line of ${payload.length} bytes does not fit in a pkt-line`);
  }
  return Buffer.concat([Buffer.from((payload.length + 4).toString(16).padStart(4, '0')), payload]);
}

/**
 * Lines are drawn one by one with `next`, because what follows the last line of a section need not be lines at all;
 * `feed` draws them all. A payload may share memory with the chunk it came in.
 */
export class PktReader {
  readonly #dialect: PktDialect;
  #chunk: Buffer = none;
  #at = 0;
  /** Digits of a length that was cut. */
  #length = '';
  /** A line that was cut: as long as it will be, and how much of it is there. */
  #line: Buffer | null = null;
  #filled = 0;

  /** The special lengths 0001 and 0002 exist only in protocol version 2. */
  constructor(dialect: PktDialect = 'v0') {
    this.#dialect = dialect;
  }

  feed(chunk: Buffer): Pkt[] {
    this.add(chunk);
    const lines: Pkt[] = [];
    for (let line = this.next(); line !== null; line = this.next()) lines.push(line);
    return lines;
  }

  add(chunk: Buffer): void {
    this.#chunk = this.#at === this.#chunk.length ? chunk : Buffer.concat([this.#chunk.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /** Null: more bytes are needed. A length that is refused is not consumed, so the reader goes no further. */
  next(): Pkt | null {
    if (this.#line !== null) return this.#fill(this.#line);
    while (this.#length.length < 4 && this.#at < this.#chunk.length) this.#length += this.#digit();
    if (this.#length.length < 4) return null;
    const length = Number.parseInt(this.#length, 16);
    if (length < 4) return this.#special(length);
    if (length > MAX_PKT_BYTES) throw malformed(`a pkt-line longer than ${MAX_PKT_BYTES} bytes`);
    const end = this.#at + length - 4;
    if (end <= this.#chunk.length) {
      const payload = this.#chunk.subarray(this.#at, end);
      this.#at = end;
      this.#length = '';
      return { kind: 'data', payload };
    }
    return this.#fill(Buffer.allocUnsafe(length - 4));
  }

  /** What was fed and is not yet part of a line that was drawn. */
  rest(): Buffer {
    const cut = this.#line === null ? none : this.#line.subarray(0, this.#filled);
    return Buffer.concat([Buffer.from(this.#length, 'latin1'), cut, this.#chunk.subarray(this.#at)]);
  }

  #fill(line: Buffer): Pkt | null {
    this.#line = line;
    const copied = this.#chunk.copy(line, this.#filled, this.#at);
    this.#filled += copied;
    this.#at += copied;
    if (this.#filled < line.length) return null;
    this.#line = null;
    this.#filled = 0;
    this.#length = '';
    return { kind: 'data', payload: line };
  }

  /** Upper case is git's own reading too; a sign, a space or `0x` is not. */
  #digit(): string {
    const byte = this.#chunk[this.#at]!;
    const isHex = (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
    if (!isHex) throw malformed('a pkt-line whose length is not four hexadecimal digits');
    this.#at++;
    return String.fromCharCode(byte);
  }

  #special(length: number): Pkt {
    if (length === 3) throw malformed('a pkt-line of length 3, which means nothing');
    // git itself takes any of these for the end of a section, and what follows for the pack.
    if (length > 0 && this.#dialect === 'v0')
      throw malformed(`a pkt-line of length ${length} outside protocol version 2`);
    this.#length = '';
    if (length === 0) return flush;
    return length === 1 ? delim : responseEnd;
  }
}

function malformed(message: string): GitWireError {
  return new GitWireError('malformed', message);
}
