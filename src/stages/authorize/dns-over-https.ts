// DNS over HTTPS would let a sandbox resolve, and talk, past our own DNS. Refused whatever the host: by media type,
// by the well-known paths, and by a query that carries a DNS message.

import type { HeaderList } from '../../path/exchange/header-list.ts';
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';

// RFC 8484 dns-message, the JSON form of public resolvers, RFC 8427 dns+json, RFC 9230 oblivious, the drafts' udpwireformat.
const dnsMediaType = /application\/(?:oblivious-)?dns[-+]/i;

export function refuseDnsOverHttps(canonical: CanonicalRequest, headers: HeaderList): void {
  const sign = signOfDns(canonical, headers);
  if (sign === null) return;
  throw new Refusal('policy.dns-over-https', `this looks like DNS over HTTPS (${sign}), which is not forwarded`, {
    rule: 'built-in: no DNS over HTTPS',
    hint: "Names are resolved by the gateway: use the host name itself, or the sandbox's own resolver.",
  });
}

function signOfDns(canonical: CanonicalRequest, headers: HeaderList): string | null {
  const { keys, values } = headers;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if ((key === 'content-type' || key === 'accept') && dnsMediaType.test(values[i]!))
      return `a DNS media type in ${key}`;
  }
  const path = canonical.path.toLowerCase();
  if (path.endsWith('/dns-query') || path.endsWith('/dns-query/')) return 'a path that ends in /dns-query';
  return canonical.query === null ? null : signInQuery(path, canonical.query);
}

function signInQuery(path: string, query: string): string | null {
  const resolves = path.endsWith('/resolve') || path.endsWith('/resolve/');
  // Parsed only when it could matter: a percent sign may spell any name.
  if (!resolves && !query.includes('%') && !query.includes('dns')) return null;
  for (const [name, value] of new URLSearchParams(query)) {
    if (resolves && name === 'name') return '/resolve with a name to look up';
    if (dnsMediaType.test(value)) return 'a DNS media type in the query';
    if (name === 'dns' && isDnsQuery(value)) return 'a DNS message in the query';
  }
  return null;
}

/** RFC 1035 4.1.1: a header of twelve bytes with QR 0, OPCODE 0, one question, no answer. */
function isDnsQuery(value: string): boolean {
  const message = Buffer.from(value, 'base64url');
  if (message.length < 17) return false;
  return (message[2]! & 0xf8) === 0 && message.readUInt16BE(4) === 1 && message.readUInt16BE(6) === 0;
}
