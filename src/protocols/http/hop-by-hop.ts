// Which header fields belong to one connection and must not be passed on (RFC 9110 7.6.1). The one list for both
// directions: `inject/` uses it for requests, `forward/` for answers. Never decides anything about framing.

/**
 * Fields that end at the next hop. `trailer` is not among them: it announces trailer fields, which are passed on.
 * `content-length` is not either: the framing is the forwarder's business.
 */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Guards: `Connection: content-length` would make us drop the length of a body that is still sent. */
const neverNamed: ReadonlySet<string> = new Set(['content-length', 'host', 'close', 'keep-alive']);

const noNames: ReadonlySet<string> = new Set();

/** `key` in lower case. */
export function isHopByHop(key: string): boolean {
  return hopByHop.has(key);
}

/** Every name that is always hop-by-hop, for callers that keep a set of their own. */
export function hopByHopNames(): Iterable<string> {
  return hopByHop;
}

/**
 * The fields that Connection headers name, in lower case: they are hop-by-hop for this message too. Framing fields
 * are left out, and so are the options that are not fields.
 */
export function connectionNames(values: readonly string[]): ReadonlySet<string> {
  let names: Set<string> | null = null;
  for (const value of values) {
    // What nearly every client and server sends.
    if (value === 'keep-alive' || value === 'close') continue;
    for (const part of value.split(',')) {
      const name = part.trim().toLowerCase();
      if (name === '' || neverNamed.has(name)) continue;
      names ??= new Set();
      names.add(name);
    }
  }
  return names ?? noNames;
}
