// Which bytes may stand in a field of HTTP/2 (RFC 9113 section 8.2.1): as in HTTP/1.1, but names in small letters, and no
// white space around a value. Looked at where bytes become a string, so that nobody else has to.
import { HTAB, SP, textBytes, tokenBytes } from '../http1/byte-class.ts';

const COLON = 0x3a;
const nameBytes = Uint8Array.from(tokenBytes, (isToken, byte) => (byte >= 0x41 && byte <= 0x5a ? 0 : isToken));

/** In words what is wrong with it; null: nothing. A name may begin with a colon: whoever knows the pseudo-fields looks on. */
export function faultInName(bytes: Uint8Array, start: number, end: number): string | null {
  const first = bytes[start] === COLON ? start + 1 : start;
  if (first >= end) return 'a field has no name';
  for (let at = first; at < end; at++) {
    if (nameBytes[bytes[at]!] === 0) return 'a field name has a capital or a character that may not stand in one';
  }
  return null;
}

export function faultInValue(bytes: Uint8Array, start: number, end: number): string | null {
  if (start === end) return null;
  if (isSpace(bytes[start]!) || isSpace(bytes[end - 1]!)) return 'a field value begins or ends with white space';
  for (let at = start; at < end; at++) {
    if (textBytes[bytes[at]!] === 0) return 'a field value has a line break, a NUL or another control character';
  }
  return null;
}

function isSpace(byte: number): boolean {
  return byte === SP || byte === HTAB;
}

/** Fields of one connection, which HTTP/2 does not have (RFC 9113 section 8.2.2). */
const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

export function isConnectionField(name: string): boolean {
  return connectionFields.has(name);
}
