// The ports of a bridge, and which of them leads to a container: read from the kernel, on both ends of the cable. Never
// from what has been seen on the wire: that is what a sandbox can forge.
import { checkInterface, checkMac, FirewallError } from './pin.ts';
import { CommandError, runSystem } from './system-command.ts';

interface Link {
  readonly ifname: string;
  readonly ifindex: number;
  /** Of the other end of a veth pair. */
  readonly link_index?: number;
  readonly address?: string;
  readonly linkinfo?: { readonly info_kind?: string };
}

export interface BridgePort {
  readonly name: string;
  readonly index: number;
  readonly peerIndex: number | null;
}

export async function listBridgePorts(bridge: string): Promise<readonly BridgePort[]> {
  const [itself] = parseLinks(await ask(bridge, ['-details', 'link', 'show', 'dev', checkInterface(bridge)]));
  // The rules cut off whatever comes in by it: on the interface by which the operator is here, that would be the operator.
  if (itself?.linkinfo?.info_kind !== 'bridge') {
    throw new FirewallError(`${bridge} is not a bridge`, 'See them with: ip link show type bridge');
  }
  const text = await ask(bridge, ['-details', 'link', 'show', 'master', checkInterface(bridge)]);
  return parseLinks(text).map(({ ifname, ifindex, link_index: peer }) => ({
    name: checkInterface(ifname),
    index: ifindex,
    peerIndex: peer ?? null,
  }));
}

/** The addresses of the bridge itself. */
export async function listBridgeAddresses(bridge: string): Promise<readonly string[]> {
  const text = await ask(bridge, ['address', 'show', 'dev', checkInterface(bridge)]);
  const links = JSON.parse(text || '[]') as readonly { readonly addr_info?: readonly { readonly local?: string }[] }[];
  return links.flatMap(({ addr_info: all = [] }) => all.flatMap(({ local }) => (local === undefined ? [] : [local])));
}

async function ask(bridge: string, words: readonly string[]): Promise<string> {
  try {
    return await runSystem('ip', ['-json', ...words]);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new FirewallError(`there is no bridge ${bridge} on this host`, 'See them with: ip link show type bridge');
  }
}

/** The port whose cable ends at the interface with this MAC in the network namespace of a process; null: none does. */
export async function portOfProcess(pid: number, mac: string, ports: readonly BridgePort[]): Promise<string | null> {
  if (!Number.isInteger(pid) || pid < 2) return null;
  let inside: readonly Link[];
  try {
    inside = parseLinks(
      await runSystem('nsenter', [`--net=/proc/${pid}/ns/net`, '--', 'ip', '-json', '-details', 'link', 'show']),
    );
  } catch (error) {
    // It has ended meanwhile; or it has given an interface a name that makes the list unreadable, to the harm of all others.
    if (error instanceof CommandError || error instanceof SyntaxError) return null;
    throw error;
  }
  const wanted = checkMac(mac);
  const ends = inside.filter(({ address, linkinfo }) => address === wanted && linkinfo?.info_kind === 'veth');
  const found = ports.filter(({ index, peerIndex }) =>
    ends.some((end) => end.link_index === index && end.ifindex === peerIndex),
  );
  // Two would mean that somebody inside has made it look so: then nobody is pinned.
  return found.length === 1 ? found[0]!.name : null;
}

function parseLinks(text: string): Link[] {
  return (JSON.parse(text === '' ? '[]' : text) as Partial<Link>[]).filter(
    (link): link is Link => typeof link.ifname === 'string' && typeof link.ifindex === 'number',
  );
}
