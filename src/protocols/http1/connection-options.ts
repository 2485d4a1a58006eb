// What the Connection field asks of this one connection. Never guesses: an element that is not exactly a known
// option means nothing here.

/** The elements of a comma-separated list of tokens, in lower case, without empty ones (RFC 9110 section 5.6.1). */
export function listTokens(value: string): string[] {
  const tokens: string[] = [];
  for (const element of value.split(',')) {
    const token = element.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase();
    if (token.length > 0) tokens.push(token);
  }
  return tokens;
}

export interface ConnectionOptions {
  readonly keepAlive: boolean;
  /** The Upgrade field, if Connection names it; without that it is not addressed to us. */
  readonly upgrade: string | null;
}

const staysOpen: ConnectionOptions = Object.freeze({ keepAlive: true, upgrade: null });
const closes: ConnectionOptions = Object.freeze({ keepAlive: false, upgrade: null });

export function connectionOptions(
  version: '1.1' | '1.0',
  connection: string | null,
  upgrade: string | null,
): ConnectionOptions {
  const modern = version === '1.1';
  if (connection === null) return modern ? staysOpen : closes;
  // The two spellings nearly every client sends, without taking the list apart.
  if (modern && (connection === 'keep-alive' || connection === 'Keep-Alive')) return staysOpen;
  const tokens = listTokens(connection);
  return {
    keepAlive: !tokens.includes('close') && (modern || tokens.includes('keep-alive')),
    // RFC 9110 section 7.8: an Upgrade in HTTP/1.0 is ignored.
    upgrade: modern && tokens.includes('upgrade') ? upgrade : null,
  };
}
