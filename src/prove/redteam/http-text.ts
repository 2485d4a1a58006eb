// Requests as the attacker writes them, byte for byte, and the ways they take: by name through the transparent door, by
// address, through the explicit proxy.
import { sandboxProxyPort } from '../../kit/namespace-handles.ts';
import type { Way } from './probe.ts';

export interface RequestParts {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** HTTP/1.1, closed after the answer. Headers given take the place of those it would have. */
export function httpRequest(host: string, target: string, parts: RequestParts = {}): string {
  const { method = 'GET', headers = {}, body } = parts;
  const fields: Record<string, string> = {
    Host: host,
    Connection: 'close',
    'User-Agent': 'redteam',
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

/** TLS to the name, which is looked up inside. */
export function byName(host: string): Way {
  return { host, port: 443, tls: { name: host } };
}

/** CONNECT through the explicit proxy, then TLS. */
export function throughProxy(host: string, port = 443): Way {
  return { ...plainProxy, connect: `${host}:${port}`, tls: { name: host } };
}

/** Nothing but the connection to the explicit proxy. */
export const plainProxy: Way = { host: '127.0.0.1', port: sandboxProxyPort };

/** TLS to an address, under a name or none. */
export function toAddress(address: string, name: string | null): Way {
  return { host: address, port: 443, tls: { name, verify: false } };
}
