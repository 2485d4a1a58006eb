// From a canonical host and port to the addresses that may be dialled: resolve, classify, and hand out only what was
// classified. `upstream.resolve` is the operator's own word and the only way to a private address.
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';

export interface UpstreamAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface FoundUpstream {
  readonly addresses: readonly UpstreamAddress[];
  readonly port: number;
}

export type AddressLookup = (host: string) => Promise<readonly UpstreamAddress[]>;

export const lookupBySystem: AddressLookup = async (host) => {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/** The pinned address of a host, if the operator gave one: needs no look-up and is not classified. */
export function pinnedUpstream(policy: CompiledPolicy, host: string, port: number): FoundUpstream | null {
  const entry = policy.upstream.resolve.find((candidate) => candidate.host.covers(host));
  if (entry === undefined) return null;
  return {
    addresses: [{ address: entry.address, family: entry.address.includes(':') ? 6 : 4 }],
    port: entry.port ?? port,
  };
}

/** No answer in time: a cause for the operator. `begun`: the resolver was asked at all. */
export class LookupTooSlow extends Error {
  override readonly name = 'LookupTooSlow';
  readonly begun: boolean;

  constructor(timeoutMs: number, begun: boolean) {
    super(
      begun
        ? `the resolver did not answer within ${timeoutMs} ms`
        : `other look-ups were in the way for ${timeoutMs} ms: those of this sandbox, or slow ones of many`,
    );
    this.begun = begun;
  }
}

/** `lookup` may reject with LookupTooSlow. */
export async function resolveUpstream(host: string, port: number, lookup: AddressLookup): Promise<FoundUpstream> {
  let found: readonly UpstreamAddress[];
  try {
    found = await lookup(host);
  } catch (cause) {
    if (cause instanceof LookupTooSlow) {
      throw new Refusal('upstream.timeout', `looking up ${host} took too long`, {
        rule: 'limits.connect_timeout_ms',
        hint: cause.begun
          ? 'Check the DNS of the machine the gateway runs on.'
          : 'Too many slow lookups were waiting before it. Ask for fewer hosts at a time.',
        cause,
      });
    }
    throw new Refusal('upstream.unresolved', `${host} could not be resolved`, {
      hint: 'Check the name and the DNS of the machine the gateway runs on.',
      cause,
    });
  }
  const addresses = found.filter(({ address }) => whyNotDial(address) === null);
  if (addresses.length === 0) {
    const kinds = found.map(({ address }) => `${address} (${whyNotDial(address)})`).join(', ');
    throw new Refusal('upstream.address-refused', `${host} does not resolve to a public address`, {
      rule: 'built-in: public addresses only',
      hint: 'If this is intended, the operator can name the address under upstream.resolve.',
      cause: new Error(`resolved to ${kinds || 'nothing'}`),
    });
  }
  return { addresses, port };
}

// Which addresses the gateway may dial on behalf of a sandbox: public unicast, nothing else. It judges addresses, not
// names, so a name that resolves inwards (or is rebound to do so) leads nowhere. // Guards: threats.md T9
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
