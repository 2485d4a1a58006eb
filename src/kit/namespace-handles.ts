// The listening sockets of a namespace door, as they arrive from the helper that opened them inside the sandbox's network
// namespace. Types only: `launch/` gets them, `accept/` serves them, `service.ts` hands them over.
import type { Socket as UdpSocket } from 'node:dgram';
import type { Server } from 'node:net';

export interface NamespaceHandles {
  /** By port: 443, 80 and every other port the policy names. Bound to every address, IPv4 and IPv6. */
  readonly tcp: ReadonlyMap<number, Server>;
  /** By port, on the sandbox's own 127.0.0.1 and ::1: ports of the host. */
  readonly hostPorts: ReadonlyMap<number, readonly Server[]>;
  /** For every IPv4 address, and for ::1. */
  readonly dnsUdp: readonly UdpSocket[];
  readonly dnsTcp: Server;
  /** The explicit proxy, on the sandbox's own loopback only. */
  readonly proxy: Server;
}

/** Where the explicit proxy listens in every sandbox: not 8080, which programs in a sandbox like to use themselves. */
export const sandboxProxyPort = 3128;
