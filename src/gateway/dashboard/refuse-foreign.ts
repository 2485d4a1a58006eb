// Keeps other pages and other machines away from the page: whom a request is meant for, where it comes from. Decides on the
// head alone, before any session is looked up; what is refused here learns nothing. Guards: DNS rebinding, cross-site requests.
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { canonicalAddress } from '../../kit/canonical-address.ts';

export interface ServedAt {
  /** The address it listens on, without brackets. */
  readonly address: string;
  readonly port: number;
}

/** Every Host by which a person at this machine may have come. */
export function ownHosts({ address, port }: ServedAt): ReadonlySet<string> {
  const names = ['localhost', '127.0.0.1', '[::1]', isIP(address) === 6 ? `[${address}]` : address];
  // A browser leaves out the port of http.
  return new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
}

export interface ForeignFacts {
  readonly peer: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** How often Host was sent: of two, somebody else may have read the other. */
  readonly hostCount: number;
}

/** Whether it comes from elsewhere or is meant for somebody else. */
export function isForeign({ peer, headers, hostCount }: ForeignFacts, hosts: ReadonlySet<string>): boolean {
  if (!isLoopback(peer)) return true;
  // A name of another site that was pointed at this machine is a page of that site with our address.
  if (hostCount !== 1 || headers.host === undefined || !hosts.has(headers.host.toLowerCase())) return true;
  const { origin } = headers;
  // Of the same address, and not of another name for it: cookies and scripts of the two are strangers.
  if (origin !== undefined && origin.toLowerCase() !== `http://${headers.host.toLowerCase()}`) return true;
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

export function isLoopback(address: string | undefined): boolean {
  const canonical = address === undefined ? null : canonicalAddress(address);
  return canonical === '::1' || canonical?.startsWith('127.') === true;
}
