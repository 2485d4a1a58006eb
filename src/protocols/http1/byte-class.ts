// Which bytes may stand where in an HTTP/1.1 message (RFC 9110 section 5, RFC 9112 sections 3 and 5), as tables of
// ones and zeroes that every reader of this room looks up. Never wider than the grammar.
// One table per class rather than one of bit masks: the test is then against a literal, which V8 folds where it
// reloads an imported constant for every byte.

export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SP = 0x20;
export const COLON = 0x3a;

type ByteTable = Readonly<Uint8Array>;

const isVisible = (byte: number): boolean => byte >= 0x21 && byte <= 0x7e;
const isText = (byte: number): boolean => isVisible(byte) || byte === SP || byte === HTAB || byte >= 0x80;

/** May stand in a method or a field name (tchar). */
export const tokenBytes: ByteTable = tableOf((byte) => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte)));
/** May stand in a request target: visible ASCII. */
export const targetBytes: ByteTable = tableOf(isVisible);
/** May stand in a field value or a reason phrase: HTAB, SP, visible ASCII, obs-text. */
export const textBytes: ByteTable = tableOf(isText);
/** May stand unescaped in a quoted string (qdtext). */
export const quotedBytes: ByteTable = tableOf((byte) => isText(byte) && byte !== 0x22 && byte !== 0x5c);

function tableOf(holds: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (holds(byte) ? 1 : 0));
}

/** The value of a hexadecimal digit; -1 for any other byte. */
export function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
