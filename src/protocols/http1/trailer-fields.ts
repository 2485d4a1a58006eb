// Which fields may come after a body. Whatever routes, frames, authenticates or explains a message must come before
// it: by then every decision has been made on the head (RFC 9110 section 6.5.1). Used when reading and when writing.

const neverLate: ReadonlySet<string> = new Set([
  // framing, routing and the connection itself
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'via',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  // request modifiers
  'expect',
  'max-forwards',
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  // who is asking
  'authorization',
  'www-authenticate',
  'authentication-info',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'private-token',
  // how to read the content
  'content-encoding',
  'content-type',
  'content-range',
  'content-location',
  'content-disposition',
  // what to do with the answer
  'cache-control',
  'pragma',
  'age',
  'date',
  'expires',
  'location',
  'retry-after',
  'vary',
  'warning',
]);

/** `key` in lower case. `_` counts as `-`, because some servers fold one into the other. */
export function mayTrail(key: string): boolean {
  const folded = key.replaceAll('_', '-');
  return !neverLate.has(folded) && !folded.startsWith('proxy-');
}
