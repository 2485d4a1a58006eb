// `[[IP:]HOST_PORT:]PORT`: a port of the sandbox's own loopback, and where this machine has it. For the command line and a registration.
import { isIP } from 'node:net';

export interface PortToPublish {
  /** Of this machine. */
  readonly address: string;
  /** Of this machine; 0: a free one. */
  readonly hostPort: number;
  /** Of the sandbox. */
  readonly port: number;
}

const problem = 'write a port such as 3000, 8080:3000, 127.0.0.1:0:3000 or [::1]:8080:3000';

export function parsePublishedPort(text: string): { readonly value: PortToPublish } | { readonly problem: string } {
  const match = /^(?:(?:(?:\[([^\]]+)\]|([\d.]+)):)?(\d{1,5}):)?(\d{1,5})$/.exec(text);
  if (match === null) return { problem };
  const address = match[1] ?? match[2] ?? '127.0.0.1';
  const port = Number(match[4]);
  const hostPort = Number(match[3] ?? port);
  if (isIP(address) !== (match[1] === undefined ? 4 : 6)) return { problem };
  if (port < 1 || port > 65_535 || hostPort > 65_535) return { problem };
  return { value: { address, hostPort, port } };
}

export function placeOf(address: string, port: number): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Who can come there from elsewhere. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}
