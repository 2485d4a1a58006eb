// Reads header blocks (RFC 7541). Strings are made and looked at once, where they stand in the bytes: a field of the table is
// ready. What breaks the compression throws, for nothing after it could be read; what breaks the rules of fields, or is too
// much, is said of the block alone, because the table must stay what the other side thinks it is.
import { faultInName, faultInValue } from './field-bytes.ts';
import { fieldOverheadBytes, staticFields, type TableField, usualTableBytes } from './hpack-static-table.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';
import { decodeHuffman } from './huffman-code.ts';

export interface HeaderBlock {
  readonly names: string[];
  readonly values: string[];
  /** In words which field may not be there; null: none. */
  readonly fault: string | null;
  /** More than a head may have; what came behind that is left out. */
  readonly isTooLarge: boolean;
}

const maxFields = 256;
const staticCount = staticFields.length;

/** Where Huffman codes are unfolded; what is in it is made a string before anybody else comes. */
let room = Buffer.allocUnsafeSlow(4096);

export class HpackDecoder {
  readonly #maxListBytes: number;
  /** The newest last: index 62 is the last of them. */
  #fields: TableField[] = [];
  /** Fields before this one have left the table. */
  #first = 0;
  #tableBytes = 0;
  #maxTableBytes = usualTableBytes;
  // The block that is being read.
  #bytes: Buffer = room;
  #at = 0;
  #end = 0;
  #fault: string | null = null;

  /** `maxListBytes`: what a head may have, 32 bytes added for each field. */
  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  decode(bytes: Buffer, start: number, end: number): HeaderBlock {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const names: string[] = [];
    const values: string[] = [];
    let fault: string | null = null;
    let listBytes = 0;
    let isTooLarge = false;
    this.#resizeTable();
    while (this.#at < end) {
      const field = this.#readField();
      listBytes += field.name.length + field.value.length + fieldOverheadBytes;
      fault ??= field.fault;
      isTooLarge ||= listBytes > this.#maxListBytes || names.length === maxFields;
      if (isTooLarge) continue;
      names.push(field.name);
      values.push(field.value);
    }
    this.#bytes = room;
    return { names, values, fault, isTooLarge };
  }

  /** Only at the beginning of a block, and twice at most (RFC 7541 section 4.2). */
  #resizeTable(): void {
    for (let n = 0; n < 2 && this.#at < this.#end && this.#bytes[this.#at]! >> 5 === 1; n++) {
      const size = this.#readInteger(5);
      if (size > usualTableBytes) throw broken('makes its table larger than it may be');
      this.#maxTableBytes = size;
      this.#evict();
    }
  }

  #readField(): TableField {
    const first = this.#bytes[this.#at]!;
    if (first >= 0x80) return this.#fieldAt(this.#readInteger(7));
    if (first >= 0x40) {
      const field = this.#readLiteral(6);
      this.#insert(field);
      return field;
    }
    if (first >= 0x20) throw broken('changes its table in the middle of a block');
    return this.#readLiteral(4);
  }

  #readLiteral(prefixBits: number): TableField {
    const index = this.#readInteger(prefixBits);
    this.#fault = null;
    let name: string;
    if (index === 0) name = this.#readString(faultInName);
    else {
      const known = this.#fieldAt(index);
      // A name that may not be there stays one, whatever its value.
      if (known.fault !== null) this.#fault = known.fault;
      name = known.name;
    }
    const value = this.#readString(faultInValue);
    return { name, value, fault: this.#fault };
  }

  #fieldAt(index: number): TableField {
    if (index >= 1 && index <= staticCount) return staticFields[index - 1]!;
    const field = this.#fields[this.#fields.length - (index - staticCount)];
    if (index === 0 || index - staticCount > this.#fields.length - this.#first || field === undefined) {
      throw broken('names a field that is not in its table');
    }
    return field;
  }

  #insert(field: TableField): void {
    this.#tableBytes += sizeOf(field);
    this.#fields.push(field);
    this.#evict();
  }

  #evict(): void {
    const fields = this.#fields;
    // A field that is larger than the table empties it, itself included.
    while (this.#tableBytes > this.#maxTableBytes) this.#tableBytes -= sizeOf(fields[this.#first++]!);
    if (this.#first > 64 && this.#first * 2 > fields.length) {
      this.#fields = fields.slice(this.#first);
      this.#first = 0;
    }
  }

  #readInteger(prefixBits: number): number {
    const bytes = this.#bytes;
    const mask = (1 << prefixBits) - 1;
    let value = bytes[this.#at++]! & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) break;
      const byte = bytes[this.#at++]!;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken('has a number that is too large, or does not end');
  }

  #readString(faultIn: (bytes: Uint8Array, start: number, end: number) => string | null): string {
    if (this.#at >= this.#end) throw broken('ends in the middle of a field');
    const isHuffman = this.#bytes[this.#at]! >= 0x80;
    const length = this.#readInteger(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw broken('ends in the middle of a field');
    this.#at = end;
    if (!isHuffman) {
      this.#fault ??= faultIn(this.#bytes, start, end);
      return this.#bytes.toString('latin1', start, end);
    }
    if (room.length < length * 2) room = Buffer.allocUnsafeSlow(length * 2);
    const written = decodeHuffman(this.#bytes, start, end, room);
    if (written < 0) throw broken('has a text that is no Huffman code');
    this.#fault ??= faultIn(room, 0, written);
    return room.toString('latin1', 0, written);
  }
}

function sizeOf({ name, value }: TableField): number {
  return name.length + value.length + fieldOverheadBytes;
}

function broken(what: string): Http2Fault {
  return new Http2Fault(errorCode.compression, `a header block ${what}`);
}
