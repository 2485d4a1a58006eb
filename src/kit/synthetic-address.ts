// The address a sandbox is given for a name it may know: computed from the name by a hash, so that it is the same after
// a restart, on every gateway and for every sandbox, and nobody keeps a table. It says nothing about where the name
// really lives and is routed nowhere outside the sandbox. Must never resolve anything and must hold no state.

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';

export interface SyntheticAddresses {
  readonly v4: string;
  readonly v6: string;
}

/** 198.18.0.0/15 is set aside for benchmarks (RFC 2544): no public host lives there, so nothing real is shadowed. */
const v4FirstByte = 198;
const v4SecondByte = 18;
/** One /64 of our own under fd00::/8: the global id spells "sally" (RFC 4193 asks only that it be unlikely to meet). */
const v6Prefix = 'fd73:616c:6c79:53';
const v6FirstGroups = [0xfd73, 0x616c, 0x6c79, 0x53] as const;
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
  const expected = syntheticAddresses(host);
  const groups = addressGroups(address);
  if (groups === undefined) return false;
  return sameGroups(groups, addressGroups(expected.v4)) || sameGroups(groups, addressGroups(expected.v6));
}

/** Is `address` one that some name could have been given? */
export function isSynthetic(address: string): boolean {
  const groups = addressGroups(address);
  if (groups === undefined) return false;
  if (isMapped(groups)) {
    const high = groups[6] ?? 0;
    return high >> 8 === v4FirstByte && ((high & 0xff) === v4SecondByte || (high & 0xff) === v4SecondByte + 1);
  }
  return v6FirstGroups.every((group, index) => groups[index] === group);
}

function canonicalName(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

function sameGroups(left: readonly number[], right: readonly number[] | undefined): boolean {
  return right?.every((group, index) => group === left[index]) ?? false;
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

/** Eight 16-bit groups; IPv4 becomes its v4-mapped form, so that both spellings of one address compare equal. */
function addressGroups(address: string): readonly number[] | undefined {
  const version = isIP(address);
  if (version === 4) return [0, 0, 0, 0, 0, 0xffff, ...v4Groups(address)];
  // A zone ("%lo") names an interface: no synthetic address is link-local, so none is ours.
  if (version !== 6 || address.includes('%')) return undefined;
  const [head = '', tail] = address.split('::');
  const before = textGroups(head);
  if (tail === undefined) return before;
  const after = textGroups(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function textGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? v4Groups(group) : [Number.parseInt(group, 16)]));
}

function v4Groups(address: string): [number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}
