// The field lines of a head or a trailer section, up to and with the blank line. First a single pass over the bytes
// that accepts or refuses each one (`scanFields`), then strings for what was accepted (`collectFields`). It refuses
// rather than repairs: no obs-fold, no bare LF or CR, no space around a name, no control byte.
import { COLON, CR, HTAB, LF, SP, textBytes, tokenBytes } from './byte-class.ts';
import { readContentLength, refuseFraming, requireChunked } from './framing.ts';
import { Http1Error } from './http1-error.ts';

/** Parallel arrays, as `new HeaderList(names, keys, values)` takes them. */
export interface Fields {
  readonly names: string[];
  readonly keys: string[];
  readonly values: string[];
}

/** The fields, and what those among them say that concern the connection. Several lines of one list are joined. */
export interface FieldSection extends Fields {
  /** -1: no Content-Length. */
  readonly contentLength: number;
  readonly chunked: boolean;
  readonly connection: string | null;
  readonly upgrade: string | null;
  readonly expect: string | null;
}

/** More fields than this is not a client but an attempt to make every look-up slow. */
const MAX_FIELDS = 256;

// What the last scan found: hash, name start and end, value start and end of each field. Shared by all parsers,
// because scanning and collecting happen in one synchronous step.
const MARKS = 5;
const marks = new Int32Array(MAX_FIELDS * MARKS);
let fieldCount = 0;

/**
 * Scans field lines from `pos`, reading no byte at or past `limit`. Returns the offset just past the blank line, or -1
 * when it has not come yet. Throws at the first byte that cannot be right, whether or not the rest is there.
 */
export function scanFields(buf: Buffer, pos: number, limit: number): number {
  // Local names and one load per byte: in these loops that is a factor of two.
  const isToken = tokenBytes;
  const isText = textBytes;
  let at = pos;
  let mark = 0;
  let byte = 0;
  for (;;) {
    if (at >= limit) return -1;
    if (buf[at] === CR) {
      if (at + 1 >= limit) return -1;
      if (buf[at + 1] !== LF) refuseSyntax('a CR without LF after it');
      fieldCount = mark / MARKS;
      return at + 2;
    }
    if (mark === marks.length) throw new Http1Error('limit.head-size', `more than ${MAX_FIELDS} header fields`);
    const nameStart = at;
    let hash = 0;
    for (; at < limit; at++) {
      byte = buf[at]!;
      if (isToken[byte] === 0) break;
      hash = hashStep(hash, byte);
    }
    if (at >= limit) return -1;
    if (byte !== COLON || at === nameStart) refuseName(byte, at === nameStart);
    const nameEnd = at++;
    for (; at < limit; at++) {
      byte = buf[at]!;
      if (byte !== SP && byte !== HTAB) break;
    }
    const valueStart = at;
    for (; at < limit; at++) {
      byte = buf[at]!;
      if (isText[byte] === 0) break;
    }
    if (at >= limit) return -1;
    if (byte !== CR) refuseText(byte, 'a header value');
    if (at + 1 >= limit) return -1;
    if (buf[at + 1] !== LF) refuseSyntax('a CR without LF after it in a header value');
    let valueEnd = at;
    while (valueEnd > valueStart && (buf[valueEnd - 1] === SP || buf[valueEnd - 1] === HTAB)) valueEnd--;
    marks[mark] = hash;
    marks[mark + 1] = nameStart;
    marks[mark + 2] = nameEnd;
    marks[mark + 3] = valueStart;
    marks[mark + 4] = valueEnd;
    mark += MARKS;
    at += 2;
  }
}

/**
 * The strings for what `scanFields` has just accepted in `buf`. `text` is the Latin-1 decoding of `buf` from `base`:
 * one decoding per head and slices of it cost a fraction of a decoding per value.
 */
export function collectFields(buf: Buffer, text: string, base: number): FieldSection {
  const names: string[] = [];
  const keys: string[] = [];
  const values: string[] = [];
  let contentLength = -1;
  let chunked = false;
  let connection: string | null = null;
  let upgrade: string | null = null;
  let expect: string | null = null;
  for (let i = 0, mark = 0; i < fieldCount; i++, mark += MARKS) {
    const field = fieldName(buf, marks[mark + 1]!, marks[mark + 2]!, marks[mark]!);
    const value = text.slice(marks[mark + 3]! - base, marks[mark + 4]! - base);
    names.push(field.name);
    keys.push(field.key);
    values.push(value);
    switch (field.role) {
      case PLAIN:
        break;
      case CONTENT_LENGTH:
        if (contentLength >= 0) refuseFraming('Content-Length is given more than once');
        requireUnpadded(buf, mark);
        contentLength = readContentLength(value);
        break;
      case TRANSFER_ENCODING:
        if (chunked) refuseFraming('Transfer-Encoding is given more than once');
        requireUnpadded(buf, mark);
        requireChunked(value);
        chunked = true;
        break;
      case CONNECTION:
        connection = joined(connection, value);
        break;
      case UPGRADE:
        upgrade = joined(upgrade, value);
        break;
      case EXPECT:
        expect = joined(expect, value);
        break;
      case LOOK_ALIKE:
        refuseFraming('a field is named like a framing field but for an underscore');
    }
  }
  if (chunked && contentLength >= 0) refuseFraming('both Transfer-Encoding and Content-Length are given');
  return { names, keys, values, contentLength, chunked, connection, upgrade, expect };
}

/**
 * White space around a framing value is legal and yet read in two ways: Node's parser takes `chunked` followed by a
 * tab for another coding. Only the spaces after the colon are safe.
 */
function requireUnpadded(buf: Buffer, mark: number): void {
  for (let at = marks[mark + 2]! + 1; at < marks[mark + 3]!; at++) {
    if (buf[at] !== SP) refuseFraming('a tab before the value of a framing field');
  }
  if (buf[marks[mark + 4]!] !== CR) refuseFraming('white space after the value of a framing field');
}

function joined(before: string | null, value: string): string {
  return before === null ? value : `${before}, ${value}`;
}

export function refuseSyntax(message: string): never {
  throw new Http1Error('malformed.syntax', message);
}

/** For a byte that may not stand in text, the reason a person can act on. */
export function refuseText(byte: number, where: string): never {
  refuseSyntax(byte === LF ? `a bare LF ends ${where}; lines end in CRLF` : `a control byte in ${where}`);
}

function refuseName(byte: number, first: boolean): never {
  if (byte === SP || byte === HTAB) {
    refuseSyntax(first ? 'a header line begins with white space' : 'white space between a header name and its colon');
  }
  if (byte === COLON) refuseSyntax('a header line without a name');
  if (byte === LF) refuseSyntax('a bare LF among the header lines; lines end in CRLF');
  if (byte === CR) refuseSyntax('a header line without a colon');
  refuseSyntax('a byte in a header name that is not allowed there');
}

// Field names are few and come again and again: each is decoded and lower-cased once and found again by its bytes.
// The table is a fixed number of slots, so a client that invents names costs itself time and us no memory.
/** What a field means to the framing of its message; everything else is `PLAIN`. */
const PLAIN = 0;
const CONTENT_LENGTH = 1;
const TRANSFER_ENCODING = 2;
const CONNECTION = 3;
const UPGRADE = 4;
const EXPECT = 5;
/** `Transfer_Encoding` and the like: some upstreams fold `_` to `-` and would see framing where we see none. */
const LOOK_ALIKE = 6;

interface FieldName {
  /** As it came. */
  readonly name: string;
  /** In lower case. */
  readonly key: string;
  readonly role: number;
}

const roles: ReadonlyMap<string, number> = new Map([
  ['content-length', CONTENT_LENGTH],
  ['transfer-encoding', TRANSFER_ENCODING],
  ['connection', CONNECTION],
  ['upgrade', UPGRADE],
  ['expect', EXPECT],
  ['content_length', LOOK_ALIKE],
  ['transfer_encoding', LOOK_ALIKE],
]);

// A power of two. Some 60 names are in use on any one host: collisions are rare and only cost a decoding.
const SLOTS = 1024;
// Longer names are not kept: the table stays under 150 KiB whatever is sent.
const LONGEST_KEPT = 64;

const slots: (FieldName | undefined)[] = new Array<FieldName | undefined>(SLOTS).fill(undefined);

/** `hash` is the scanner's (`hashStep` over the bytes from `start` to `end`). */
function fieldName(buf: Buffer, start: number, end: number, hash: number): FieldName {
  const slot = (hash ^ (hash >>> 10)) & (SLOTS - 1);
  const known = slots[slot];
  if (known !== undefined && sameBytes(known.name, buf, start, end)) return known;
  // A copy of its own, not a slice of the head: a kept slice would keep the whole head alive.
  const name = buf.toString('latin1', start, end);
  const key = name.toLowerCase();
  const made: FieldName = { name, key, role: roles.get(key) ?? PLAIN };
  if (name.length <= LONGEST_KEPT) slots[slot] = made;
  return made;
}

function hashStep(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

function sameBytes(name: string, buf: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== buf[start + i]) return false;
  return true;
}
