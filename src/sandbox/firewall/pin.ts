// Who may speak on a sandbox network: an address, its MAC, and the bridge port it is plugged into. These go into a ruleset
// that root loads, so only exact addresses, MACs and names are accepted.
import { isIPv4, isIPv6 } from 'node:net';

/**
 * All three belong together. Without the port, a sandbox could take over both the address and the MAC of another; the port
 * is the one thing that it cannot choose.
 */
export interface Pin {
  readonly address: string;
  readonly mac: string;
  readonly port: string;
}

/** What is wrong with what was asked, and what to write instead. */
export class FirewallError extends Error {
  override readonly name = 'FirewallError';
  readonly hint: string;

  constructor(message: string, hint = '') {
    super(message);
    this.hint = hint;
  }
}

/** Of an interface: what the kernel takes, less what would have to be quoted. */
const interfaceName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/;
const macAddress = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

export function checkInterface(name: string): string {
  if (interfaceName.test(name)) return name;
  throw new FirewallError(
    `${JSON.stringify(name)} is not the name of an interface`,
    'See them with `ip link`; a name has at most 15 letters, digits, ".", "-" and "_".',
  );
}

export function checkMac(text: string): string {
  const mac = text.toLowerCase();
  // The lowest bit of the first byte says: a group. No machine has such an address.
  if (macAddress.test(mac) && (Number.parseInt(mac.slice(0, 2), 16) & 1) === 0) return mac;
  throw new FirewallError(`${JSON.stringify(text)} is not the MAC address of an interface`, 'See it with `ip link`.');
}

/** One spelling for each address; a zone (`%eth0`) has no place in a rule. */
export function checkAddress(text: string): string {
  if (isIPv4(text)) return text;
  if (isIPv6(text) && !text.includes('%') && !text.includes('.'))
    return new URL(`http://[${text}]`).hostname.slice(1, -1);
  throw new FirewallError(`${JSON.stringify(text)} is not an address`, 'Write it like 172.30.0.5 or 2001:db8::5.');
}

/** `ADDRESS=MAC@PORT`. */
export function parsePin(text: string): Pin {
  const [, address, mac, port] = /^([^=]+)=([^@]+)@(.+)$/.exec(text) ?? [];
  if (address === undefined || mac === undefined || port === undefined) {
    throw new FirewallError(
      `${JSON.stringify(text)} does not say which address has which MAC on which port of the bridge`,
      'Write ADDRESS=MAC@PORT, like 172.30.0.5=02:42:ac:1e:00:05@veth1a2b3c; `bridge link` shows the ports.',
    );
  }
  return { address: checkAddress(address), mac: checkMac(mac), port: checkInterface(port) };
}

export function checkPin({ address, mac, port }: Pin): Pin {
  return { address: checkAddress(address), mac: checkMac(mac), port: checkInterface(port) };
}

/** 128 bits in hexadecimal: how an address is written where it is not at its usual place in a packet. */
export function asHex(address: string): string {
  const [head = '', tail] = checkAddress(address).split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  return `0x${[...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join('')}`;
}
