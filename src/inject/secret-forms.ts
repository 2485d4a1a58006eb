// The forms in which a credential may come back: as it is, in base64 at each of its three alignments, in hexadecimal;
// and each of them with any of its characters escaped for a URL or for JSON. Built once per credential.

/** Two values per place: hexadecimal has two cases, base64 two alphabets. Equal where there is one. */
export interface Form {
  readonly first: Uint8Array;
  readonly second: Uint8Array;
}

/** What is shorter than this is no secret, and would be found in answers that do not hold it. */
export const minSecretBytes = 6;

export function formsOf(value: Buffer): Form[] {
  const forms = [form(value, value)];
  for (const before of [0, 1, 2]) {
    const standard = base64Within(value, before);
    forms.push(form(standard, mapped(standard, urlSafe)));
  }
  const hex = Buffer.from(value.toString('hex'), 'latin1');
  forms.push(form(hex, mapped(hex, upperCase)));
  return forms;
}

/** The characters of base64 that `value` alone decides when so many bytes (modulo 3) come before it. */
function base64Within(value: Buffer, before: number): Buffer {
  const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor(((before + value.length) * 8) / 6);
  return Buffer.from(text.slice(from, to), 'latin1');
}

function form(first: Buffer, second: Buffer): Form {
  // A form field writes a space as a plus sign.
  const other = mapped(second, (byte) => (byte === 0x20 ? 0x2b : byte));
  return { first: Uint8Array.from(first), second: Uint8Array.from(other) };
}

function mapped(bytes: Buffer, map: (byte: number) => number): Buffer {
  return Buffer.from(bytes.map(map));
}

/** `+` and `/` as RFC 4648 section 5 writes them. */
function urlSafe(byte: number): number {
  if (byte === 0x2b) return 0x2d;
  return byte === 0x2f ? 0x5f : byte;
}

function upperCase(byte: number): number {
  return byte >= 0x61 && byte <= 0x7a ? byte - 0x20 : byte;
}
