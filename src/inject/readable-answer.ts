// What a request that carries a credential must not ask for: an answer in pieces, or in a coding. Its answer is searched
// for the credential on the way back, and in two halves, or compressed, it could come back unseen.

/** Fields of the client that do not go out with a credential, in lower case. */
export const unreadableWishes: readonly string[] = [
  'accept-encoding',
  'grpc-accept-encoding',
  // A server may answer any range with all of it (RFC 9110 section 14.2).
  'range',
  'if-range',
  // The one extension in use compresses messages.
  'sec-websocket-extensions',
];

/** Goes out instead: without it any coding would be welcome (RFC 9110 section 12.5.3). */
export const plainWish: readonly [name: string, value: string] = ['Accept-Encoding', 'identity'];
