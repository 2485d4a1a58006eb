// Does a form of a credential stand at this place? Any of its characters may be escaped as URLs (%2F) or JSON (\/, \",
// \\, \u002f) escape them. Says also when the bytes end before it can be told.
import type { Form } from './secret-forms.ts';

/** All that is here belongs to it, and more would have to come. */
export const unfinished = -1;
/** It does not stand here. Of several answers the largest counts. */
export const nothing = -2;

const quote = 0x22;
const percent = 0x25;
const slash = 0x2f;
const backslash = 0x5c;
const letterU = 0x75;
const zero = 0x30;

export function isEscape(byte: number): boolean {
  return byte === percent || byte === backslash;
}

/** What may follow a backslash that stands for one of these bytes, by byte: 1. */
export function shortEscapes(forms: readonly Form[]): Uint8Array {
  const table = new Uint8Array(256);
  table[letterU] = 1;
  for (const { first } of forms) for (const byte of first) if (hasShortEscape(byte)) table[byte] = 1;
  return table;
}

/** Could an escape of one of these bytes begin here? `table` of shortEscapes(). */
export function mayEscape(bytes: Buffer, at: number, table: Uint8Array): boolean {
  const byte = bytes[at]!;
  if (!isEscape(byte)) return false;
  if (at + 1 >= bytes.length) return true;
  return byte === percent ? digitOf(bytes[at + 1]!) >= 0 : table[bytes[at + 1]!] === 1;
}

/** The offset behind it, `nothing` or `unfinished`. `from`: the place in the form to begin with. */
export function matchForm(bytes: Buffer, at: number, { first, second }: Form, from = 0): number {
  let here = at;
  for (let i = from; i < first.length; i++) {
    if (here >= bytes.length) return unfinished;
    const byte = bytes[here]!;
    const plain = byte === first[i] || byte === second[i];
    if (!isEscape(byte)) {
      if (!plain) return nothing;
      here++;
      continue;
    }
    const length = escapeLength(bytes, here, first[i]!, second[i]!);
    if (!plain) {
      if (length < 0) return length;
      here += length;
      continue;
    }
    // A percent sign or backslash that belongs to the secret itself may be written either way.
    const asItIs = matchForm(bytes, here + 1, { first, second }, i + 1);
    if (length === nothing) return asItIs;
    const escaped = length === unfinished ? unfinished : matchForm(bytes, here + length, { first, second }, i + 1);
    return Math.max(asItIs, escaped);
  }
  return here;
}

/** How long the escape is that stands here for one of two bytes; `nothing` or `unfinished`. */
function escapeLength(bytes: Buffer, at: number, first: number, second: number): number {
  if (bytes[at] === percent) return hexLength(bytes, at, 1, first, second);
  if (at + 1 >= bytes.length) return unfinished;
  const next = bytes[at + 1]!;
  if (next !== letterU) {
    return hasShortEscape(next) && (next === first || next === second) ? 2 : nothing;
  }
  for (let i = at + 2; i < at + 4; i++) {
    if (i >= bytes.length) return unfinished;
    if (bytes[i] !== zero) return nothing;
  }
  return hexLength(bytes, at, 4, first, second);
}

/** JSON has other short escapes, for control characters, which no credential has. */
function hasShortEscape(byte: number): boolean {
  return byte === slash || byte === quote || byte === backslash;
}

/** Two hexadecimal digits, `before` bytes behind `at`, that spell one of two bytes. */
function hexLength(bytes: Buffer, at: number, before: number, first: number, second: number): number {
  if (at + before >= bytes.length) return unfinished;
  const high = digitOf(bytes[at + before]!);
  if (high < 0 || (high !== first >> 4 && high !== second >> 4)) return nothing;
  if (at + before + 1 >= bytes.length) return unfinished;
  const low = digitOf(bytes[at + before + 1]!);
  const value = low < 0 ? -1 : high * 16 + low;
  return value === first || value === second ? before + 2 : nothing;
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
