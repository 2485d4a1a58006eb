// Writes header blocks (RFC 7541). A field that comes a second time with the same value goes into the table, and is one byte
// from then on; what may be a credential never does. No Huffman codes: they save bytes on a wire that is mostly this machine,
// and cost time. Never writes a field that the other side would have to refuse.
import { faultInName, faultInValue, isConnectionField } from './field-bytes.ts';
import { fieldOverheadBytes, staticIndexes, usualTableBytes } from './hpack-static-table.ts';

/** A field that HTTP/2 cannot carry. Nothing of its block was written. */
export class UnwritableField extends Error {
  override readonly name = 'UnwritableField';
}

/** What was last written under a name. */
interface Written {
  value: string;
  /** The how-many-eth of all fields that went into the table; -1: it did not. */
  insertion: number;
  readonly isSecret: boolean;
  readonly mayRepeat: boolean;
  /** In which block it was last looked at. */
  block: number;
}

const maxNames = 128;
/** Longer ones are not worth remembering. */
const maxKeptText = 1024;
const firstDynamicIndex = 62;
/** For the integers and types around the bytes of a field, with room to spare. */
const aroundFieldBytes = 16;
const maybeSecret = /auth|cookie|token|secret|key|session|csrf|password|credential|signature/;
/** What two of them say is up to the reader, and readers differ. */
const neverTwice: ReadonlySet<string> = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'age', 'authorization', 'content-encoding'],
  ...['content-language', 'content-length', 'content-location', 'content-range', 'content-type', 'date', 'etag'],
  ...['expires', 'host', 'last-modified', 'location', 'proxy-authorization', 'referer', 'retry-after', 'user-agent'],
  'x-content-type-options',
]);
const statusIndexes: ReadonlyMap<number, number> = new Map([
  [200, 8],
  [204, 9],
  [206, 10],
  [304, 11],
  [400, 12],
  [404, 13],
  [500, 14],
]);

let checked = Buffer.allocUnsafeSlow(4096);

export class HpackEncoder {
  readonly #written = new Map<string, Written>();
  /** Sizes of what is in the table, which never has more than so many fields. */
  readonly #sizes = new Uint16Array(usualTableBytes / fieldOverheadBytes);
  #inserted = 0;
  #dropped = 0;
  #tableBytes = 0;
  #maxTableBytes = usualTableBytes;
  /** The smallest size since the last block, which has to be told; -1: nothing is to be told. */
  #smallestBytes = -1;
  #block = 0;
  #to: Buffer = checked;
  #at = 0;

  /** What the other side keeps at most. */
  limitTable(bytes: number): void {
    const size = Math.min(bytes, usualTableBytes);
    if (size === this.#maxTableBytes) return;
    this.#smallestBytes = this.#smallestBytes < 0 ? size : Math.min(this.#smallestBytes, size);
    this.#maxTableBytes = size;
    this.#evict();
  }

  /** Throws if one of them cannot be written. The bytes that `write` will need at most. */
  measure(names: readonly string[], values: readonly string[]): number {
    // One that threw half-way counts too.
    this.#block++;
    let bytes = 4 * aroundFieldBytes;
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      const value = values[i]!;
      bytes += name.length + value.length + aroundFieldBytes;
      const before = this.#written.get(name);
      const isRepeated = before === undefined ? names.indexOf(name) < i : before.block === this.#block;
      if (isRepeated && !(before?.mayRepeat ?? !neverTwice.has(name))) {
        throw new UnwritableField('a field comes twice that may stand once');
      }
      if (before !== undefined) before.block = this.#block;
      else checkName(name);
      if (before?.value !== value) checkValue(value);
    }
    return bytes;
  }

  /** At `at` of `to`, which has room for what was measured. `status` 0: trailers have none. Returns the end. */
  write(to: Buffer, at: number, status: number, names: readonly string[], values: readonly string[]): number {
    this.#to = to;
    this.#at = at;
    this.#writeSize();
    if (status !== 0) this.#writeStatus(status);
    for (let i = 0; i < names.length; i++) this.#writeField(names[i]!, values[i]!);
    this.#to = checked;
    return this.#at;
  }

  #writeSize(): void {
    if (this.#smallestBytes < 0) return;
    this.#writeInteger(0x20, 5, this.#smallestBytes);
    if (this.#smallestBytes !== this.#maxTableBytes) this.#writeInteger(0x20, 5, this.#maxTableBytes);
    this.#smallestBytes = -1;
  }

  #writeStatus(status: number): void {
    const index = statusIndexes.get(status);
    if (index !== undefined) this.#to[this.#at++] = 0x80 | index;
    else {
      this.#writeInteger(0, 4, 8);
      this.#writeText(String(status));
    }
  }

  #writeField(name: string, value: string): void {
    const before = this.#written.get(name);
    if (before === undefined) {
      if (this.#written.size < maxNames && value.length <= maxKeptText) {
        const [isSecret, mayRepeat] = [maybeSecret.test(name), !neverTwice.has(name)];
        this.#written.set(name, { value, insertion: -1, isSecret, mayRepeat, block: -1 });
      }
    } else if (before.value !== value) {
      if (value.length <= maxKeptText) {
        before.value = value;
        before.insertion = -1;
      }
    } else if (before.insertion >= this.#dropped) {
      this.#writeInteger(0x80, 7, firstDynamicIndex + this.#inserted - 1 - before.insertion);
      return;
    } else if (!before.isSecret && this.#fits(name, value)) {
      this.#writeLiteral(0x40, 6, name, value);
      before.insertion = this.#inserted;
      this.#insert(name.length + value.length + fieldOverheadBytes);
      return;
    }
    if (before?.isSecret ?? maybeSecret.test(name)) this.#writeLiteral(0x10, 4, name, value);
    else this.#writeLiteral(0, 4, name, value);
  }

  #fits(name: string, value: string): boolean {
    return name.length + value.length + fieldOverheadBytes <= this.#maxTableBytes / 4;
  }

  #insert(bytes: number): void {
    this.#tableBytes += bytes;
    this.#evict();
    this.#sizes[this.#inserted++ % this.#sizes.length] = bytes;
  }

  #evict(): void {
    while (this.#tableBytes > this.#maxTableBytes) {
      this.#tableBytes -= this.#sizes[this.#dropped++ % this.#sizes.length]!;
    }
  }

  #writeLiteral(type: number, prefixBits: number, name: string, value: string): void {
    const index = staticIndexes.get(name);
    this.#writeInteger(type, prefixBits, index ?? 0);
    if (index === undefined) this.#writeText(name);
    this.#writeText(value);
  }

  #writeText(text: string): void {
    this.#writeInteger(0, 7, text.length);
    this.#at += this.#to.write(text, this.#at, 'latin1');
  }

  #writeInteger(type: number, prefixBits: number, value: number): void {
    const mask = (1 << prefixBits) - 1;
    if (value < mask) {
      this.#to[this.#at++] = type | value;
      return;
    }
    this.#to[this.#at++] = type | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>= 7) this.#to[this.#at++] = (rest & 0x7f) | 0x80;
    this.#to[this.#at++] = rest;
  }
}

function checkName(name: string): void {
  if (name.startsWith(':') || isConnectionField(name) || faultInName(bytesOf(name), 0, name.length) !== null) {
    throw new UnwritableField('a field has a name that HTTP/2 cannot carry');
  }
}

function checkValue(value: string): void {
  if (faultInValue(bytesOf(value), 0, value.length) !== null) {
    throw new UnwritableField('a field has a value that HTTP/2 cannot carry');
  }
}

/** Until it is asked again. A character that is more than a byte is one that may not stand there. */
function bytesOf(text: string): Uint8Array {
  if (checked.length < text.length) checked = Buffer.allocUnsafeSlow(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    checked[i] = code > 0xff ? 0 : code;
  }
  return checked;
}
