// One spelling for a host: lower case, IDNA, no address literal in any notation, no trailing dot. Whatever is not
// plainly a DNS name is refused here, before any rule sees it. Never resolves anything.
import { domainToASCII, domainToUnicode } from 'node:url';
import { Refusal } from '../../path/refusal.ts';

const dnsName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
// WHATWG URL "ends in a number": 127.1, 0x7f000001, 017700000001 and 2130706433 are all addresses to some resolver.
const endsInNumber = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

export function canonicalHost(text: string): string {
  if (text.startsWith('[') || text.includes(':')) throw literalAddress(text);
  let host = text.toLowerCase();
  // domainToASCII is a URL parser: it would decode %2e, skip tabs and stop at a slash. Only letters may reach it.
  if (/[^a-z0-9_.\-\x80-\xff]/.test(host)) host = '';
  // Header bytes arrive as latin1; a raw UTF-8 name is read as such before IDNA (which may itself yield an address).
  else if (/\P{ASCII}/u.test(text)) host = domainToASCII(Buffer.from(text, 'latin1').toString('utf8'));
  else if (host.includes('xn--') && !isEncodedName(host)) host = '';
  if (endsInNumber.test(host)) throw literalAddress(text);
  if (!dnsName.test(host)) {
    throw new Refusal('malformed.host', `${JSON.stringify(text)} is not a host name`, {
      hint: 'Use a plain DNS name without a trailing dot.',
    });
  }
  return host;
}

/** A name in its ASCII form, and the only one: what it spells leads back to it. Versions of Node differ in what they let pass. */
function isEncodedName(host: string): boolean {
  const spelled = domainToUnicode(host);
  return !/(?:^|\.)xn--/.test(spelled) && domainToASCII(spelled) === host;
}

function literalAddress(text: string): Refusal {
  return new Refusal('target.literal-address', `${text} is an address; only host names can be reached`, {
    rule: 'built-in: names only',
    hint: 'Use the host name that is on the allowlist.',
  });
}

export interface Authority {
  readonly host: string;
  /** null: none was written. */
  readonly port: number | null;
}

// The same few come again and again; the memo is emptied rather than grown past its bound.
const known = new Map<string, Authority>();
const maxKnown = 2048;

/** Reads `host[:port]` as it stands in CONNECT, Host, :authority or an absolute-form target. */
export function parseAuthority(text: string): Authority {
  const memo = known.get(text);
  if (memo !== undefined) return memo;
  const authority = readAuthority(text);
  if (known.size >= maxKnown) known.clear();
  // A copy of its own: a slice of a head that is kept here would keep the whole head alive.
  known.set(Buffer.from(text, 'latin1').toString('latin1'), authority);
  return authority;
}

function readAuthority(text: string): Authority {
  const colon = text.lastIndexOf(':');
  if (text.startsWith('[') || colon !== text.indexOf(':')) throw literalAddress(text);
  if (colon < 0) return { host: canonicalHost(text), port: null };
  const digits = text.slice(colon + 1);
  const port = Number(digits);
  if (!/^[1-9]\d{0,4}$/.test(digits) || port > 65535) {
    throw new Refusal('malformed.host', `${JSON.stringify(text)} has no valid port`, { hint: 'Ports are 1 to 65535.' });
  }
  return { host: canonicalHost(text.slice(0, colon)), port };
}
