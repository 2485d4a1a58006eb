// Reads what a caller sends in Proxy-Authorization: `Basic base64(user:secret)` or `Bearer secret`. Knows nothing of
// who is registered, and never puts what it read into an error.

export interface ShownSecret {
  /** The id the caller claims; null when it claims none (no user name, or the user name `sandbox`). */
  readonly claimedId: string | null;
  readonly secret: string;
}

// Ours are 43 characters and ids at most 63: what is longer is wrong, and not worth hashing.
const maxLength = 512;
const scheme = /^(basic|bearer) +([A-Za-z0-9+/=._~-]+) *$/i;

/** Null when it is not one of the two forms. */
export function readProxyAuthorization(value: string): ShownSecret | null {
  const parts = value.length > maxLength ? null : scheme.exec(value);
  if (parts === null) return null;
  const token = parts[2]!;
  if (parts[1]!.toLowerCase() === 'bearer') return { claimedId: null, secret: token };
  const pair = Buffer.from(token, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  const user = pair.slice(0, colon);
  // `sandbox` is for clients whose proxy URL needs some user name.
  return { claimedId: user === '' || user === 'sandbox' ? null : user, secret: pair.slice(colon + 1) };
}
