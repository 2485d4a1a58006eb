// What request and response heads share: where reading stops, and the protocol version. Never looks past the limit.
import { tokenBytes } from './byte-class.ts';
import { refuseSyntax } from './field-section.ts';
import { Http1Error } from './http1-error.ts';

export type Version = '1.1' | '1.0';

/** `HTTP/1.x` is this long. */
export const VERSION_BYTES = 8;

const PREFIX = [0x48, 0x54, 0x54, 0x50, 0x2f];

/** The blank line is not there yet: wait for more, or refuse a head that is already as long as it may be. */
export function awaitMore(buf: Buffer, start: number, maxBytes: number): null {
  if (buf.length - start >= maxBytes) {
    throw new Http1Error('limit.head-size', `the head is longer than ${maxBytes} bytes`);
  }
  return null;
}

/** Reads `HTTP/1.1` or `HTTP/1.0` at `pos`. Null: as far as it is there, it is right. */
export function readVersion(buf: Buffer, pos: number, limit: number): Version | null {
  for (let i = 0; i < PREFIX.length; i++) {
    if (pos + i >= limit) return null;
    if (buf[pos + i] !== PREFIX[i]) refuseSyntax('the start line does not name its protocol as HTTP/');
  }
  if (pos + 5 >= limit) return null;
  if (buf[pos + 5] !== 0x31) refuseVersion(buf[pos + 5]!);
  if (pos + 6 >= limit) return null;
  if (buf[pos + 6] !== 0x2e) refuseVersion(buf[pos + 6]!);
  if (pos + 7 >= limit) return null;
  if (buf[pos + 7] === 0x31) return '1.1';
  if (buf[pos + 7] === 0x30) return '1.0';
  return refuseVersion(buf[pos + 7]!);
}

function refuseVersion(byte: number): never {
  if (tokenBytes[byte] === 0) refuseSyntax('the start line ends before its protocol version');
  throw new Http1Error('malformed.version', 'a protocol version other than HTTP/1.1 and HTTP/1.0');
}
