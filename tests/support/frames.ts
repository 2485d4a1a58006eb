// Frames made by hand, as a sandbox with a raw socket would make them, with right checksums, so that only a rule can refuse them.
import { asHex, checkAddress } from '../../src/sandbox/firewall/pin.ts';

export interface Ends {
  readonly mac: string;
  readonly v4: string;
  readonly v6: string;
}

const everybody = 'ff:ff:ff:ff:ff:ff';

export function arpFrame(options: {
  readonly frameFrom: string;
  readonly frameTo?: string;
  readonly operation: 'request' | 'reply';
  readonly senderMac: string;
  readonly senderIp: string;
  readonly targetIp: string;
}): Buffer {
  const { frameFrom, frameTo = everybody, operation, senderMac, senderIp, targetIp } = options;
  const body = Buffer.concat([
    Buffer.from(`00010800060400${operation === 'request' ? '01' : '02'}`, 'hex'),
    ...[mac(senderMac), v4(senderIp), mac('00:00:00:00:00:00'), v4(targetIp)],
  ]);
  return ethernet(frameTo, frameFrom, 0x0806, body);
}

/** `to.mac` is who gets the frame, `to.v4` the packet: they need not be the same. */
export function udpFrame(
  from: Pick<Ends, 'mac' | 'v4'>,
  to: Pick<Ends, 'mac' | 'v4'>,
  port: number,
  text: string,
  { fromPort = 40_000, fragment = 0 } = {},
): Buffer {
  const payload = Buffer.from(text);
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(fromPort, 0);
  udp.writeUInt16BE(port, 2);
  // A checksum of zero: none was made (RFC 768).
  udp.writeUInt16BE(8 + payload.length, 4);
  return ip4(from, to, 17, Buffer.concat([udp, payload]), fragment);
}

/** The first packet of a connection, with something in it. */
export function synFrame(
  from: Pick<Ends, 'mac' | 'v4'>,
  to: Pick<Ends, 'mac' | 'v4'>,
  fromPort: number,
  text: string,
): Buffer {
  const tcp = Buffer.alloc(20);
  tcp.writeUInt16BE(fromPort, 0);
  tcp.writeUInt16BE(8022, 2);
  tcp[12] = 0x50;
  tcp[13] = 0x02;
  return ip4(from, to, 6, Buffer.concat([tcp, Buffer.from(text)]), 0);
}

export function udp6Frame(
  from: Pick<Ends, 'mac' | 'v6'>,
  to: Pick<Ends, 'mac' | 'v6'>,
  port: number,
  text: string,
): Buffer {
  const payload = Buffer.from(text);
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(40_000, 0);
  udp.writeUInt16BE(port, 2);
  udp.writeUInt16BE(8 + payload.length, 4);
  return ip6(from, to, 17, Buffer.concat([udp, payload]), 6);
}

/** Says of `target` that it is at `claimed`: solicited and overriding, as a spoofer would. */
export function neighbourAdvert(
  from: Pick<Ends, 'mac' | 'v6'>,
  to: Pick<Ends, 'mac' | 'v6'>,
  target: string,
  claimed: string,
): Buffer {
  const body = Buffer.concat([
    Buffer.from('8800000060000000', 'hex'),
    v6(target),
    Buffer.from('0201', 'hex'),
    mac(claimed),
  ]);
  return ip6(from, to, 58, body, 2, 255);
}

/** Asks for `target`, and says by the way where the asker is. */
export function neighbourSolicit(from: Pick<Ends, 'mac' | 'v6'>, to: Pick<Ends, 'mac' | 'v6'>, target: string): Buffer {
  const body = Buffer.concat([
    Buffer.from('8700000000000000', 'hex'),
    v6(target),
    Buffer.from('0101', 'hex'),
    mac(from.mac),
  ]);
  return ip6(from, to, 58, body, 2, 255);
}

/** Says: send everything through me. */
export function routerAdvert(from: Pick<Ends, 'mac' | 'v6'>): Buffer {
  const body = Buffer.concat([
    Buffer.from('86000000400007080000000000000000', 'hex'),
    Buffer.from('0101', 'hex'),
    mac(from.mac),
  ]);
  return ip6(from, { mac: '33:33:00:00:00:01', v6: 'ff02::1' }, 58, body, 2, 255);
}

export function plainFrame(from: string, to: string, type: number, text: string): Buffer {
  return ethernet(to, from, type, Buffer.from(text));
}

function ip4(
  from: Pick<Ends, 'mac' | 'v4'>,
  to: Pick<Ends, 'mac' | 'v4'>,
  protocol: number,
  body: Buffer,
  fragment: number,
): Buffer {
  const head = Buffer.alloc(20);
  head[0] = 0x45;
  head.writeUInt16BE(20 + body.length, 2);
  head.writeUInt16BE(fragment, 6);
  head[8] = 64;
  head[9] = protocol;
  v4(from.v4).copy(head, 12);
  v4(to.v4).copy(head, 16);
  head.writeUInt16BE(checksum(head), 10);
  return ethernet(to.mac, from.mac, 0x0800, Buffer.concat([head, body]));
}

function ip6(
  from: Pick<Ends, 'mac' | 'v6'>,
  to: Pick<Ends, 'mac' | 'v6'>,
  next: number,
  body: Buffer,
  checksumAt: number,
  hops = 64,
): Buffer {
  const head = Buffer.alloc(40);
  head[0] = 0x60;
  head.writeUInt16BE(body.length, 4);
  head[6] = next;
  head[7] = hops;
  v6(from.v6).copy(head, 8);
  v6(to.v6).copy(head, 24);
  const pseudo = Buffer.alloc(8);
  pseudo.writeUInt32BE(body.length, 0);
  pseudo[7] = next;
  body.writeUInt16BE(checksum(Buffer.concat([head.subarray(8, 40), pseudo, body])), checksumAt);
  return ethernet(to.mac, from.mac, 0x86dd, Buffer.concat([head, body]));
}

function ethernet(to: string, from: string, type: number, body: Buffer): Buffer {
  const kind = Buffer.alloc(2);
  kind.writeUInt16BE(type);
  return Buffer.concat([mac(to), mac(from), kind, body]);
}

/** RFC 1071. */
function checksum(data: Buffer): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += (data[at]! << 8) | (data[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function mac(text: string): Buffer {
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}

function v4(text: string): Buffer {
  return Buffer.from(text.split('.').map(Number));
}

function v6(text: string): Buffer {
  return Buffer.from(asHex(checkAddress(text)).slice(2), 'hex');
}
