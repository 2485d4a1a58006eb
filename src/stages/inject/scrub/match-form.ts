// Reads one character that is written in another way than as itself: escaped for a URL (%2F), for JSON (\/, \", \\, \u002f)
// or for HTML (&#x2F;, &#47;, &amp;), and the line ends that wrapped base64 and hexadecimal have in them. Never allocates
// where there is no escape: this is asked about most bytes of some answers.

/** All that is here belongs to it, and more would have to come. */
export const unfinished = -1;
/** It does not stand here. */
export const nothing = -2;
/** The value of what stands between two lines. */
export const lineEnd = 256;

const valueBits = 9;
const percent = 0x25;
const ampersand = 0x26;
const semicolon = 0x3b;
const backslash = 0x5c;
const newline = 0x0a;
const carriageReturn = 0x0d;
const [letterN, letterR, letterU, letterX] = [0x6e, 0x72, 0x75, 0x78];
const numberSign = 0x23;
const zero = 0x30;

const named: readonly (readonly [name: string, value: number])[] = [
  ['&amp;', 0x26],
  ['&apos;', 0x27],
  ['&gt;', 0x3e],
  ['&lt;', 0x3c],
  ['&quot;', 0x22],
];
/** As many leading zeros as anything writes. */
const maxReferenceDigits = 4;
/** &#x002f; is the longest of all. */
export const maxEscapeBytes = 8;

/** By byte: 2 where an escape may begin, 1 where a line may end, 0 for all others. */
export const signs = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === percent || byte === backslash || byte === ampersand) return 2;
  return byte === newline || byte === carriageReturn ? 1 : 0;
});

/** What stands at `at`, where there is one of `signs`: see bytesOfEscape() and byteOfEscape(); or `nothing`, or `unfinished`. */
export function readEscape(bytes: Uint8Array, at: number): number {
  const sign = bytes[at]!;
  if (sign === percent) return readHex(bytes, at, 1);
  if (sign === newline) return packed(1, lineEnd);
  if (at + 1 >= bytes.length) return unfinished;
  const next = bytes[at + 1]!;
  if (sign === carriageReturn) return next === newline ? packed(2, lineEnd) : nothing;
  return sign === backslash ? readBackslash(bytes, at, next) : readReference(bytes, at, next);
}

export function bytesOfEscape(token: number): number {
  return token >>> valueBits;
}

/** A byte, or `lineEnd`. */
export function byteOfEscape(token: number): number {
  return token & ((1 << valueBits) - 1);
}

/** Could the beginning of an escape, all that there is, become one of this byte? */
export function mayBecome(begun: string, byte: number): boolean {
  let all = spellings[byte];
  if (all === undefined) {
    all = spellingsOf(byte);
    spellings[byte] = all;
  }
  const folded = begun[1] === 'U' ? begun : begun.toLowerCase();
  return all.some((spelling) => spelling.startsWith(folded));
}

const spellings: string[][] = [];

function spellingsOf(byte: number): string[] {
  const hex = byte.toString(16);
  const all = [`%${hex.padStart(2, '0')}`, `\\u${hex.padStart(4, '0')}`];
  for (let digits = 1; digits <= maxReferenceDigits; digits++) {
    all.push(`&#x${hex.padStart(digits, '0')};`, `&#${String(byte).padStart(digits, '0')};`);
  }
  if (hasShortEscape(byte)) all.push(`\\${String.fromCharCode(byte)}`);
  for (const [name, value] of named) if (value === byte) all.push(name);
  return all;
}

/** Could the beginning of an escape, all that there is, become a line end? */
export function mayEndLine(begun: string): boolean {
  return begun === '\r' || '\\r\\n'.startsWith(begun);
}

function packed(length: number, value: number): number {
  return (length << valueBits) | value;
}

function readBackslash(bytes: Uint8Array, at: number, next: number): number {
  if (next === letterU) {
    for (let i = at + 2; i < at + 4; i++) {
      if (i >= bytes.length) return unfinished;
      if (bytes[i] !== zero) return nothing;
    }
    return readHex(bytes, at, 4);
  }
  if (next === letterN) return packed(2, lineEnd);
  if (next !== letterR) return hasShortEscape(next) ? packed(2, next) : nothing;
  if (at + 2 >= bytes.length) return unfinished;
  if (bytes[at + 2] !== backslash) return nothing;
  if (at + 3 >= bytes.length) return unfinished;
  return bytes[at + 3] === letterN ? packed(4, lineEnd) : nothing;
}

/** JSON has other short escapes, for control characters, which no credential has. */
function hasShortEscape(byte: number): boolean {
  return byte === 0x2f || byte === 0x22 || byte === backslash;
}

/** Two hexadecimal digits, `before` bytes behind `at`. */
function readHex(bytes: Uint8Array, at: number, before: number): number {
  const first = at + before;
  if (first + 1 < bytes.length) {
    // Negative if one of them is no digit.
    const value = (digitOf(bytes[first]!) << 4) | digitOf(bytes[first + 1]!);
    return value < 0 ? nothing : packed(before + 2, value);
  }
  return first < bytes.length && digitOf(bytes[first]!) < 0 ? nothing : unfinished;
}

/** A character reference of HTML, with its semicolon. */
function readReference(bytes: Uint8Array, at: number, next: number): number {
  if (next !== numberSign) return readName(bytes, at, next);
  let here = at + 2;
  if (here >= bytes.length) return unfinished;
  const base = (bytes[here]! | 0x20) === letterX ? 16 : 10;
  if (base === 16) here++;
  const first = here;
  let value = 0;
  for (; here < bytes.length && here - first <= maxReferenceDigits; here++) {
    const byte = bytes[here]!;
    if (byte === semicolon) return here > first && value < 256 ? packed(here + 1 - at, value) : nothing;
    const digit = digitOf(byte);
    if (digit < 0 || digit >= base) return nothing;
    value = value * base + digit;
  }
  return here >= bytes.length && here - first <= maxReferenceDigits ? unfinished : nothing;
}

function readName(bytes: Uint8Array, at: number, next: number): number {
  // Most ampersands stand between the parameters of a URL: told by the first letter.
  if (next !== 0x61 && next !== 0x67 && next !== 0x6c && next !== 0x71) return nothing;
  for (const [name, value] of named) {
    let i = 1;
    while (i < name.length && at + i < bytes.length && bytes[at + i] === name.charCodeAt(i)) i++;
    if (i === name.length) return packed(i, value);
    if (at + i >= bytes.length) return unfinished;
  }
  return nothing;
}

/** The value of a hexadecimal digit, -1 for every other byte. */
const digits = Int8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
});

function digitOf(byte: number): number {
  return digits[byte]!;
}
