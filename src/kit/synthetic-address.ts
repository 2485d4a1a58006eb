// The address a sandbox is given for a name it may know: computed from the name by a hash, so that it is the same after
// a restart, on every gateway and for every sandbox, and nobody keeps a table. It says nothing about where the name
// really lives and is routed nowhere outside the sandbox. Must never resolve anything and must hold no state.

import { createHash } from 'node:crypto';
import { canonicalAddress } from './canonical-address.ts';

export interface SyntheticAddresses {
  readonly v4: string;
  readonly v6: string;
}

/** 198.18.0.0/15 is set aside for benchmarks (RFC 2544): no public host lives there, so nothing real is shadowed. */
const v4FirstByte = 198;
const v4SecondByte = 18;
/** One /64 of our own under fd00::/8: the global id spells "sally" (RFC 4193 asks only that it be unlikely to meet). */
const v6Prefix = 'fd73:616c:6c79:53';
const ours = [`${v4FirstByte}.${v4SecondByte}.`, `${v4FirstByte}.${v4SecondByte + 1}.`, `${v6Prefix}:`];
const hostsPerLastByte = 254;

/**
 * The one v4 and the one v6 address of a name. `host` is a canonical name (lower case, no trailing dot); case and one
 * trailing dot are forgiven so that two spellings of a name can never have two addresses.
 */
export function syntheticAddresses(host: string): SyntheticAddresses {
  const hash = createHash('sha256').update(canonicalName(host)).digest();
  const second = v4SecondByte + (hash.readUInt8(0) & 1);
  // .0 and .255 in the last byte read as a network and a broadcast address to some clients: 1 to 254 only.
  const last = 1 + (hash.readUInt32BE(4) % hostsPerLastByte);
  const groups = [8, 10, 12, 14].map((offset) => hash.readUInt16BE(offset).toString(16));
  return {
    v4: `${v4FirstByte}.${second}.${hash.readUInt8(1)}.${last}`,
    v6: `${v6Prefix}:${groups.join(':')}`,
  };
}

/** Is `address` (as a socket reports it, v4-mapped forms included) the address this name was given? */
export function isSyntheticFor(host: string, address: string): boolean {
  const { v4, v6 } = syntheticAddresses(host);
  const canonical = canonicalAddress(address);
  return canonical !== null && (canonical === v4 || canonical === canonicalAddress(v6));
}

/** Is `address` one that some name could have been given? */
export function isSynthetic(address: string): boolean {
  const canonical = canonicalAddress(address);
  return canonical !== null && ours.some((start) => canonical.startsWith(start));
}

function canonicalName(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}
