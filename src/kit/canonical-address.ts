// One spelling for an address, so that a caller and a registration are compared as the same thing: IPv4 in dotted
// decimal, IPv6 in its shortest form, IPv4-mapped IPv6 as the IPv4 address it is. Never guesses at other notations.
import ipaddr from 'ipaddr.js';

/** Null when the text is not an address that identifies one machine. */
export function canonicalAddress(text: string): string | null {
  if (!text.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text).toString() : null;
  // A zone (fe80::1%eth0) names an interface of this host: the same text can be two machines.
  if (text.includes('%')) return null;
  const hex = withoutDots(text);
  if (hex === null || !ipaddr.IPv6.isValid(hex)) return null;
  const address = ipaddr.IPv6.parse(hex);
  return (address.isIPv4MappedAddress() ? address.toIPv4Address() : address).toString();
}

/** `::ffff:1.2.3.4` as `::ffff:102:304`: the library would take the unrelated `::1.2.3.4` for the IPv4 address itself. */
function withoutDots(text: string): string | null {
  if (!text.includes('.')) return text;
  const tail = text.lastIndexOf(':') + 1;
  const dotted = text.slice(tail);
  if (!ipaddr.IPv4.isValidFourPartDecimal(dotted)) return null;
  const [a, b, c, d] = ipaddr.IPv4.parse(dotted).octets;
  return `${text.slice(0, tail)}${((a! << 8) | b!).toString(16)}:${((c! << 8) | d!).toString(16)}`;
}

/** What a socket reports of either end. A dual-stack listener shows IPv4 as mapped IPv6; the rest is in its one spelling. */
export function plainAddress(reported: string | undefined): string | null {
  if (reported === undefined) return null;
  return reported.startsWith('::ffff:') ? reported.slice(7) : reported;
}

/** What a socket reports as its peer: already dotted decimal when it is IPv4, which is left as it stands. */
export function callerAddress(reported: string): string | null {
  return reported.includes(':') ? canonicalAddress(reported) : reported;
}

/** Whether a machine can call from it: not the unspecified address, not multicast, not broadcast. */
export function isCallable(canonical: string): boolean {
  const range = ipaddr.parse(canonical).range();
  return range !== 'unspecified' && range !== 'multicast' && range !== 'broadcast';
}
