// How the length of a body is known, and the reading of the two fields that say so. Structurally the `Framing` of
// `path/exchange/exchange.ts`. Never picks one of two possible readings: what has two is refused (RFC 9112 section 6.3).
import { Http1Error } from './http1-error.ts';

/** `until-close`: answers without a length, tunnels and upgraded connections. */
export type Http1Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

/** Shared, because most messages have one of these and a framing is never changed. */
export const noBody: Http1Framing = Object.freeze({ kind: 'none' });
export const chunkedBody: Http1Framing = Object.freeze({ kind: 'chunked' });
export const untilClose: Http1Framing = Object.freeze({ kind: 'until-close' });

export function refuseFraming(message: string): never {
  throw new Http1Error('malformed.framing', message);
}

/** Digits and nothing else: a sign, a list, a space or a unit is where two parsers begin to disagree. */
export function readContentLength(value: string): number {
  if (value.length === 0) refuseFraming('Content-Length is empty');
  // C's strtol reads 010 as eight where it is left to guess the base.
  if (value.length > 1 && value.charCodeAt(0) === 0x30) refuseFraming('Content-Length begins with a nought');
  let bytes = 0;
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) refuseFraming('Content-Length is not a single decimal number');
    bytes = bytes * 10 + digit;
    if (bytes > Number.MAX_SAFE_INTEGER) refuseFraming('Content-Length is larger than 2^53-1');
  }
  return bytes;
}

/** `chunked` alone: any other coding, or a list, would leave the length to interpretation. */
export function requireChunked(value: string): void {
  if (value !== 'chunked' && value.toLowerCase() !== 'chunked') {
    refuseFraming('Transfer-Encoding is something other than exactly "chunked"');
  }
}
