// Whether a connection to a place is a plain one (`tcp`), and for which host: nothing in it says so. In a namespace each name
// has an address of its own; on a network all have that of the door, and the port must tell. What could be for two hosts is for
// none. This is for every door to a port that is not HTTP. Decides nothing: the path does. // Guards: threats.md T109
import { NewestMap } from '../../../kit/newest-map.ts';
import type { OriginalDestination } from '../../../kit/original-destination.ts';
import { isSyntheticFor } from '../../../kit/synthetic-address.ts';
import { Refusal } from '../../../path/refusal.ts';
import { canonicalHost } from '../canonical-host.ts';
import type { PlainPlaces } from './door-ports.ts';

/** The host a plain connection is for, or why that is not known. */
export type PlainPlace = { readonly host: string } | { readonly fault: Refusal };

/** As many names as a sandbox uses; it forgets its own alone. */
const maxAsked = 1024;

/** The names that one sandbox has asked for and was given an address for. */
export class AskedNames {
  readonly #names = new NewestMap<string, true>(maxAsked);

  add(name: string): void {
    try {
      this.#names.set(canonicalHost(name.replace(/\.$/, '')), true);
    } catch {
      // No host that anything could go to.
    }
  }

  all(): Iterable<string> {
    return this.#names.keys();
  }
}

/** In a namespace. Null: what comes there is read. */
export function plainPlaceOf(
  { tcp, read }: PlainPlaces,
  { address, port }: OriginalDestination,
  asked: AskedNames,
): PlainPlace | null {
  const there = tcp.filter(({ ports }) => ports.includes(port));
  if (there.length === 0) return null;
  const isHere = (host: string): boolean => isSyntheticFor(host, address);
  const named = hostsOf(there, asked).filter(isHere);
  if (named.length > 0) return onlyOne(named, port);
  if (read.has(port)) return null;
  // No rule lets it through: the path says so, by its name where it has one.
  const other = [...asked.all()].filter(isHere);
  return other.length > 0 ? onlyOne(other, port) : { fault: unnamed(address, port) };
}

/** At a door that answers every name with its own address. */
export function plainPlaceAtDoor({ tcp, read }: PlainPlaces, port: number, asked: AskedNames): PlainPlace | null {
  const there = tcp.filter(({ ports }) => ports.includes(port));
  if (there.length === 0 || read.has(port)) return null;
  const named = hostsOf(there, asked);
  if (named.length <= 1) return onlyOne(named, port);
  const known = new Set(asked.all());
  const wanted = named.filter((host) => known.has(host));
  return onlyOne(wanted.length === 0 ? named : wanted, port);
}

/** Those that are written out, and those of a wildcard that were asked for. */
function hostsOf(rules: PlainPlaces['tcp'], asked: AskedNames): string[] {
  const exact = rules.map(({ host }) => host.text).filter((text) => !text.startsWith('*'));
  const wide = rules.filter(({ host }) => host.text.startsWith('*'));
  const covered =
    wide.length === 0 ? [] : [...asked.all()].filter((name) => wide.some(({ host }) => host.covers(name)));
  return [...new Set([...exact, ...covered])];
}

function onlyOne(hosts: readonly string[], port: number): PlainPlace {
  const [host] = hosts;
  if (host !== undefined && hosts.length === 1) return { host };
  return { fault: host === undefined ? unasked(port) : ambiguous(hosts, port) };
}

const rule = 'built-in: a plain connection is for one name';

function unnamed(address: string, port: number): Refusal {
  return new Refusal('target.literal-address', `${address} is not the address of a host that port ${port} is for`, {
    rule: 'built-in: names only',
    hint: 'Let the client look up the name inside this sandbox: only the address it gets there leads to the host.',
  });
}

function unasked(port: number): Refusal {
  return new Refusal('target.literal-address', `no name was looked up that port ${port} is for`, {
    rule,
    hint: 'Let the client look up the name of the host here first, or use CONNECT through the proxy.',
  });
}

function ambiguous(hosts: readonly string[], port: number): Refusal {
  const some = hosts.slice(0, 4).join(', ');
  return new Refusal('mismatch.authority', `port ${port} at this address could be for more than one host (${some})`, {
    rule,
    hint: 'Use IPv6, where each name has an address that no other shares, or CONNECT through the proxy, which says the name.',
  });
}
