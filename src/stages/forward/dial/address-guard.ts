// Which addresses the gateway may dial on behalf of a sandbox: public unicast, nothing else. It judges addresses, not
// names, so a name that resolves inwards (or is rebound to do so) leads nowhere. // Guards: threats.md T9
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Public by range, but answering only from inside a cloud: the Azure host agent. */
const publicButLocal = new Set(['168.63.129.16']);
/** Global unicast as assigned by IANA; outside it ipaddr.js calls some deprecated forms plain unicast (::1.2.3.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** null: may be dialled. Otherwise what kind of address it is. */
export function whyNotDial(address: string): string | null {
  const family = isIP(address);
  // ipaddr.js would read 1.2.3 and 0177.1 as inet_aton does; no resolver answers in such words.
  if (family === 0) return 'not an address';
  let parsed: ipaddr.IPv4 | ipaddr.IPv6;
  try {
    // Not `parse`: it takes ::172.18.0.5 for the IPv4 address.
    parsed = family === 6 ? ipaddr.IPv6.parse(address) : ipaddr.IPv4.parse(address);
  } catch {
    return 'not an address';
  }
  const range = parsed.range();
  if (range !== 'unicast') return range;
  if (publicButLocal.has(address)) return 'cloud metadata';
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast)) return 'not global unicast';
  return null;
}
