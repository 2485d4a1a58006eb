// The exact text of the firewall for one sandbox network, from a plan and its members: what `firewall print` shows is what
// `firewall apply` loads. Pure. Two tables of ours, nothing else on the host is named in it.
import { createHash } from 'node:crypto';
import { bridgeChains } from './bridge-rules.ts';
import { checkMembers, checkPlan, type FirewallPlan, type Members, tableName } from './firewall-plan.ts';
import { hostChains } from './host-rules.ts';
import { asHex } from './pin.ts';
import { type Chain, writeChain } from './rule.ts';

export interface Ruleset {
  readonly table: string;
  /** SHA-256 of the rules, without the members: it is in the comments of both tables and of a set of each. */
  readonly checksum: string;
  /** Replaces both tables, whatever they were, in one transaction. */
  readonly text: string;
  /** Replaces the members alone, in one transaction. */
  readonly membersText: string;
  /** The comments of the rules of each table, in their order. */
  readonly rules: Readonly<Record<Family, readonly string[]>>;
}

export type Family = 'bridge' | 'inet';
export const families: readonly Family[] = ['bridge', 'inet'];

interface MemberSet {
  readonly family: Family;
  readonly name: string;
  readonly type: string;
  readonly elements: readonly string[];
}

/** Throws a FirewallError when the plan or a member is not what it should be. */
export function writeRuleset(asked: FirewallPlan, askedMembers: Members): Ruleset {
  const plan = checkPlan(asked);
  const members = checkMembers(askedMembers, plan);
  const table = tableName(plan.bridge);
  const chains: Record<Family, readonly Chain[]> = { bridge: bridgeChains(plan), inet: hostChains(plan) };
  const sets = memberSets(members, plan);
  const bare = families.flatMap((family) => writeTable(family, table, '', emptied(sets), chains[family])).join('\n');
  const checksum = createHash('sha256').update(bare).digest('hex');
  const mark = markOf(plan.bridge, checksum);
  const lines = families.flatMap((family) => [
    // Adding what may be there, so that deleting it cannot fail: the way of nft to say "whatever there was".
    `add table ${family} ${table}`,
    `delete table ${family} ${table}`,
    ...writeTable(family, table, mark, sets, chains[family]),
  ]);
  return {
    table,
    checksum,
    text: `${lines.join('\n')}\n`,
    membersText: `${sets.flatMap((set) => refill(set, table)).join('\n')}\n`,
    rules: { bridge: commentsOf(chains.bridge), inet: commentsOf(chains.inet) },
  };
}

function markOf(bridge: string, checksum: string): string {
  return `sallyport firewall of ${bridge}, sha256 ${checksum}`;
}

/** What the comment of a table of ours says; null: it is not ours. */
export function readMark(comment: string): { readonly bridge: string; readonly checksum: string } | null {
  const [, bridge, checksum] = /^sallyport firewall of (\S+), sha256 ([0-9a-f]{64})$/.exec(comment) ?? [];
  return bridge === undefined || checksum === undefined ? null : { bridge, checksum };
}

function memberSets({ ports, pins }: Members, { gateway, seesBridge }: FirewallPlan): MemberSet[] {
  const v4 = pins.filter(({ address }) => !address.includes(':'));
  const v6 = pins.filter(({ address }) => address.includes(':'));
  const pinned = v4.map(({ port, mac, address }) => `"${port}" . ${mac} . ${address}`);
  const pinned6 = v6.map(({ port, mac, address }) => `"${port}" . ${mac} . ${address}`);
  // The same triples in the form in which a neighbour advertisement has them: as bare bits.
  const claims6 = v6.map(({ port, mac, address }) => `"${port}" . 0x${bareMac(mac)} . ${asHex(address)}`);
  const pairs = (of: typeof pins): string[] => [...new Set(of.map(({ mac, address }) => `${mac} . ${address}`))];
  const addresses = (of: typeof pins): string[] => [...new Set(of.map(({ address }) => address))];
  return [
    { family: 'bridge', name: 'ports', type: 'type ifname', elements: ports.map((port) => `"${port}"`) },
    { family: 'bridge', name: 'pins4', type: 'type ifname . ether_addr . ipv4_addr', elements: pinned },
    { family: 'bridge', name: 'pins6', type: 'type ifname . ether_addr . ipv6_addr', elements: pinned6 },
    { family: 'bridge', name: 'claims6', type: 'typeof iifname . @th,208,48 . @th,64,128', elements: claims6 },
    ...(seesBridge ? [] : takenSets(pins, gateway)),
    { family: 'inet', name: 'pairs4', type: 'type ether_addr . ipv4_addr', elements: pairs(v4) },
    { family: 'inet', name: 'pairs6', type: 'type ether_addr . ipv6_addr', elements: pairs(v6) },
    { family: 'inet', name: 'addresses4', type: 'type ipv4_addr', elements: addresses(v4) },
    { family: 'inet', name: 'addresses6', type: 'type ipv6_addr', elements: addresses(v6) },
  ];
}

/** What somebody on this network has, the gateway included where it is at a port: nobody else's, wherever that is. */
function takenSets(pins: Members['pins'], { v4, v6, at }: FirewallPlan['gateway']): MemberSet[] {
  const own = at === null ? [] : [v4, v6].filter((address) => address !== null);
  const addresses = [...new Set([...own, ...pins.map(({ address }) => address)])];
  const taken4 = addresses.filter((address) => !address.includes(':'));
  const taken6 = addresses.filter((address) => address.includes(':'));
  const macs = [...new Set([...(at === null ? [] : [at.mac]), ...pins.map(({ mac }) => mac)])];
  return [
    { family: 'bridge', name: 'macs', type: 'type ether_addr', elements: macs },
    { family: 'bridge', name: 'addresses4', type: 'type ipv4_addr', elements: taken4 },
    { family: 'bridge', name: 'addresses6', type: 'type ipv6_addr', elements: taken6 },
    // Once more as bare bits: where ARP and a neighbour advertisement have them.
    { family: 'bridge', name: 'senders4', type: 'typeof @nh,112,32', elements: taken4.map(v4AsHex) },
    { family: 'bridge', name: 'targets6', type: 'typeof @th,64,128', elements: taken6.map(asHex) },
  ];
}

function bareMac(mac: string): string {
  return mac.replaceAll(':', '');
}

function v4AsHex(address: string): string {
  return `0x${Buffer.from(address.split('.').map(Number)).toString('hex')}`;
}

function emptied(sets: readonly MemberSet[]): MemberSet[] {
  return sets.map((set) => ({ ...set, elements: [] }));
}

function writeTable(
  family: Family,
  table: string,
  mark: string,
  sets: readonly MemberSet[],
  chains: readonly Chain[],
): string[] {
  const own = sets.filter((set) => set.family === family);
  const body = [
    ...(mark === '' ? [] : [`comment "${mark}"`]),
    // Also on a set: the form that programs read does not have the comments of tables.
    ...own.flatMap((set, at) => writeSet(set, at === 0 ? mark : '')),
    ...chains.flatMap(writeChain),
  ];
  return [`table ${family} ${table} {`, ...body.map((line) => `  ${line}`), '}'];
}

function writeSet({ name, type, elements }: MemberSet, mark: string): string[] {
  return [
    `set ${name} {`,
    `  ${type}`,
    ...(mark === '' ? [] : [`  comment "${mark}"`]),
    ...(elements.length === 0 ? [] : [`  elements = { ${elements.join(',\n      ')} }`]),
    '}',
  ];
}

function refill({ family, name, elements }: MemberSet, table: string): string[] {
  const set = `${family} ${table} ${name}`;
  return [`flush set ${set}`, ...(elements.length === 0 ? [] : [`add element ${set} { ${elements.join(', ')} }`])];
}

function commentsOf(chains: readonly Chain[]): string[] {
  return chains.flatMap(({ rules }) => rules.map(({ comment }) => comment));
}
