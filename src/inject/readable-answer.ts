// A request that carries a credential asks for an answer that can be read on its way back: not compressed, and whole. In
// two halves, or inside a coding that we cannot open, the credential could come back unseen.
import type { HeaderList } from '../flow/header-list.ts';

const notAskedFor: ReadonlySet<string> = new Set([
  'accept-encoding',
  'grpc-accept-encoding',
  // A server may answer any range with all of it (RFC 9110 section 14.2).
  'range',
  'if-range',
  // The only extension in use compresses messages.
  'sec-websocket-extensions',
]);

/** A copy that asks for it so. */
export function askReadable(headers: HeaderList): HeaderList {
  // Without the field any coding would be welcome (RFC 9110 section 12.5.3).
  return headers.without((key) => notAskedFor.has(key)).append('Accept-Encoding', 'identity');
}
