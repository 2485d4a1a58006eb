// Where a connection was going before a REDIRECT or DNAT rule of this network namespace led it here, as the kernel
// remembers it (SO_ORIGINAL_DST). Whoever connects cannot change it. Must never be taken for permission: it only says more.
import { type Socket, SocketAddress } from 'node:net';
import { loadSocketOptions } from './process/socket-option.ts';

export interface OriginalDestination {
  /** In the one spelling that sockets report. */
  readonly address: string;
  readonly port: number;
}

/** Null: the kernel does not track this connection, or it is gone. One that was not led anywhere shows its own place. */
export type ReadOriginalDestination = (socket: Socket) => OriginalDestination | null;

const SOL_IP = 0;
const SOL_IPV6 = 41;
/** The same number in both families (linux/netfilter_ipv4.h, linux/netfilter_ipv6/ip6_tables.h). */
const SO_ORIGINAL_DST = 80;
/** sockaddr_in: family 2, port 2, address 4, unused 8. */
const v4Bytes = 16;
/** sockaddr_in6: family 2, port 2, flow 4, address 16, scope 4. */
const v6Bytes = 28;

/** Null: it cannot be asked on this system. About two microseconds a connection. */
export async function loadOriginalDestination(): Promise<ReadOriginalDestination | null> {
  try {
    const readOption = await loadSocketOptions();
    return (socket) => {
      const isV6 = socket.remoteFamily === 'IPv6';
      const value = Buffer.alloc(isV6 ? v6Bytes : v4Bytes);
      try {
        if (readOption(socket, isV6 ? SOL_IPV6 : SOL_IP, SO_ORIGINAL_DST, value) !== value.length) return null;
      } catch {
        return null;
      }
      return isV6 ? placeInV6(value) : placeInV4(value);
    };
  } catch {
    return null;
  }
}

function placeInV4(value: Buffer): OriginalDestination {
  return { address: value.subarray(4, 8).join('.'), port: value.readUInt16BE(2) };
}

function placeInV6(value: Buffer): OriginalDestination {
  const groups = Array.from({ length: 8 }, (_, i) => value.readUInt16BE(8 + 2 * i).toString(16));
  return { address: plainSpelling(groups.join(':')), port: value.readUInt16BE(2) };
}

/** As a socket would report this address: `2001:DB8:0:0::2` as `2001:db8::2`. */
export function plainSpelling(address: string): string {
  return new SocketAddress({ address, family: address.includes(':') ? 'ipv6' : 'ipv4' }).address;
}
