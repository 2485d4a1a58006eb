// The listening sockets of a door on an internal network: DNS and the ports of the policy, on exactly one address. If
// one cannot be bound, the error says what to do, and those that were open are closed again.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { createServer, isIPv6, type Server } from 'node:net';
import { highWaterMark } from './door-connection.ts';

export interface GatewayListeners {
  readonly udp: UdpSocket;
  readonly dnsTcp: Server;
  /** By port. */
  readonly tcp: Map<number, Server>;
}

export const dnsPort = 53;

export async function openGatewayListeners(address: string, ports: readonly number[]): Promise<GatewayListeners> {
  const udp = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const dnsTcp = newServer();
  const tcp = new Map(ports.map((port) => [port, newServer()]));
  const bindings = [
    bind(udp, () => udp.bind({ address, port: dnsPort }), `udp ${placeText(address, dnsPort)}`),
    listen(dnsTcp, address, dnsPort),
    ...[...tcp].map(([port, server]) => listen(server, address, port)),
  ];
  const settled = await Promise.allSettled(bindings);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed === undefined) return { udp, dnsTcp, tcp };
  udp.close();
  for (const server of [dnsTcp, ...tcp.values()]) server.close();
  throw failed.reason;
}

/** One port more. */
export async function openGatewayPort(address: string, port: number): Promise<Server> {
  const server = newServer();
  await listen(server, address, port);
  return server;
}

function newServer(): Server {
  return createServer({ noDelay: true, highWaterMark });
}

function listen(server: Server, address: string, port: number): Promise<void> {
  return bind(server, () => server.listen({ host: address, port }), `tcp ${placeText(address, port)}`);
}

async function bind(emitter: EventEmitter, begin: () => void, place: string): Promise<void> {
  const listening = once(emitter, 'listening');
  begin();
  try {
    await listening;
  } catch (cause) {
    throw unboundError(place, cause as NodeJS.ErrnoException);
  } finally {
    // An unheard error event would end the gateway: accepting may fail for want of file descriptors.
    emitter.on('error', () => {});
  }
}

function unboundError(place: string, cause: NodeJS.ErrnoException): Error {
  const what = `the gateway door cannot listen on ${place} (${cause.code ?? cause.message})`;
  return new Error(`${what}. ${adviceFor(cause.code, place)}`, { cause });
}

function adviceFor(code: string | undefined, place: string): string {
  const port = place.slice(place.lastIndexOf(':') + 1);
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `Ports this low need CAP_NET_BIND_SERVICE (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE, Docker: cap_add NET_BIND_SERVICE), or the sysctl net.ipv4.ip_unprivileged_port_start=${port} or lower.`;
    case 'EADDRINUSE':
      return port === String(dnsPort)
        ? 'Another resolver listens there: systemd-resolved, dnsmasq, or one on every address. Stop it or keep it off this address; `ss -lnptu sport = :53` shows it.'
        : `Something else listens there, perhaps on every address: stop it or move it; \`ss -lnpt sport = :${port}\` shows it.`;
    case 'EADDRNOTAVAIL':
      return 'This machine does not have that address (yet): `ip address` shows those it has. listen.gateway may also name the subnet, such as 172.30.0.0/24.';
    default:
      return 'Choose another address under listen.gateway.';
  }
}

export function placeText(address: string, port: number): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
