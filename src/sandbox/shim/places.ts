// Where the shim listens and where the gateway is, read from the command line. The shim listens on loopback or on a
// Unix socket and nowhere else: whoever is further away has no uid that could be asked for.
import { BlockList, isIP, isIPv6 } from 'node:net';
import { isAbsolute } from 'node:path';
import { ShimRefused } from './shim-refused.ts';

export interface ShimEndpoint {
  readonly host: string;
  readonly port: number;
}

export type ListenPlace =
  | ({ readonly kind: 'tcp' } & ShimEndpoint)
  | {
      readonly kind: 'unix';
      readonly path: string;
    };

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

export function parseListen(text: string): ListenPlace {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    if (!isAbsolute(path)) throw wrongListen(text, 'the path of a Unix socket begins with /');
    return { kind: 'unix', path };
  }
  const endpoint = parseEndpoint(text, 0);
  if (endpoint === null) throw wrongListen(text, 'it is not an address and a port');
  if (!isLoopback(endpoint.host)) {
    throw wrongListen(text, 'the shim listens on loopback only: it cannot ask for the uid of a caller from elsewhere');
  }
  return { kind: 'tcp', ...endpoint };
}

export function parseGateway(text: string): ShimEndpoint {
  const endpoint = parseEndpoint(text, 1);
  if (endpoint !== null) return endpoint;
  throw new ShimRefused(
    `--gateway ${text} is not a host and a port`,
    'Write it like gateway.example:8443, 192.0.2.7:8443 or "[2001:db8::7]:8443": the address of listen.mtls.',
  );
}

export function showEndpoint({ host, port }: ShimEndpoint): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseEndpoint(text: string, smallestPort: number): ShimEndpoint | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const port = Number(match[3]);
  if (port < smallestPort || port > 65_535) return null;
  if (match[1] !== undefined) return isIP(match[1]) === 6 ? { host: match[1], port } : null;
  return { host: match[2]!, port };
}

/** Addresses only: what `localhost` is, somebody else may have decided. */
function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function wrongListen(text: string, why: string): ShimRefused {
  return new ShimRefused(
    `--listen ${text}: ${why}`,
    'Write it like 127.0.0.1:3128, "[::1]:3128" or unix:/run/sallyport/shim.sock',
  );
}
