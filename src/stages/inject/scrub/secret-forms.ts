// The forms in which a credential may come back: as it is, in base64 at each of its three alignments, in hexadecimal, in
// UTF-16. Each of them may have any of its characters escaped besides: match-form.ts reads those.

export type FormKind = 'plain' | 'base64' | 'hex';

export interface Form {
  readonly kind: FormKind;
  /** Hexadecimal in lower case. */
  readonly bytes: Uint8Array;
}

/** What is shorter than this is no secret, and would be found in answers that do not hold it. */
export const minSecretBytes = 6;

/** None is shorter than minSecretBytes. */
export function formsOf(value: Buffer): Form[] {
  const forms: Form[] = [plain(value)];
  // A form field writes a space as a plus sign.
  if (value.includes(0x20)) forms.push(plain(mapped(value, (byte) => (byte === 0x20 ? 0x2b : byte))));
  for (const wide of utf16(value)) forms.push(plain(wide));
  for (const before of [0, 1, 2]) {
    const standard = base64Within(value, before);
    const url = mapped(standard, urlSafe);
    forms.push({ kind: 'base64', bytes: standard });
    if (!url.equals(standard)) forms.push({ kind: 'base64', bytes: url });
  }
  forms.push({ kind: 'hex', bytes: Buffer.from(value.toString('hex'), 'latin1') });
  // Letters that take three bytes in UTF-8 take two in UTF-16.
  return forms.filter(({ bytes }) => bytes.length >= minSecretBytes);
}

/** `-----BEGIN …` on one line: which line ends it had is not known, so each of its lines is looked for by itself. */
export function linesOfKey(value: string): string[] {
  return value.startsWith('-----BEGIN ') ? value.split(' ').filter((line) => line.length >= 16) : [];
}

function plain(bytes: Buffer): Form {
  return { kind: 'plain', bytes };
}

/** Without the zero at its end or beginning, ASCII is the same in both orders of bytes. */
function utf16(value: Buffer): Buffer[] {
  const little = Buffer.from(value.toString('utf8'), 'utf16le');
  if (value.every((byte) => byte < 0x80)) return [little.subarray(0, -1)];
  return [little, Buffer.from(little).swap16()];
}

/** The characters of base64 that `value` alone decides when so many bytes (modulo 3) come before it. */
function base64Within(value: Buffer, before: number): Buffer {
  const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor(((before + value.length) * 8) / 6);
  return Buffer.from(text.slice(from, to), 'latin1');
}

function mapped(bytes: Buffer, map: (byte: number) => number): Buffer {
  return Buffer.from(bytes.map(map));
}

/** `+` and `/` as RFC 4648 section 5 writes them. */
function urlSafe(byte: number): number {
  if (byte === 0x2b) return 0x2d;
  return byte === 0x2f ? 0x5f : byte;
}
