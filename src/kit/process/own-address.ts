// The address of this machine that a listener is to have, where it is named by the subnet it is in: in a container the
// address is not known when the configuration is written. Never picks one of several.
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** An address or a name comes back as it is; a subnet becomes the one address that this machine has in it. */
export function ownAddress(host: string, interfaces = networkInterfaces()): string {
  const [network, length] = host.split('/');
  if (network === undefined || length === undefined) return host;
  const family = isIPv6(network) ? 'ipv6' : 'ipv4';
  const subnet = new BlockList();
  subnet.addSubnet(network, Number(length), family);
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const found = all.filter((one) => one.family.toLowerCase() === family && subnet.check(one.address, family));
  if (found.length === 1) return found[0]!.address;
  const has = all.map(({ address }) => address).join(', ') || 'none';
  throw new Error(
    found.length === 0
      ? `this machine has no address in ${host} (it has ${has})`
      : `this machine has several addresses in ${host} (${found.map(({ address }) => address).join(', ')}): name one`,
  );
}
