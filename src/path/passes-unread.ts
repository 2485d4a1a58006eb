// Connections whose bytes are passed on as they come: nothing in them is read, changed, searched or given a credential.
import type { CanonicalRequest } from './flow.ts';

export function passesUnread(kind: CanonicalRequest['kind']): boolean {
  return kind === 'tunnel' || isPlainConnection(kind);
}

/** Neither TLS nor HTTP: not even a name is in it. Who it is for is known by the place it was made to. */
export function isPlainConnection(kind: CanonicalRequest['kind']): boolean {
  return kind === 'tcp' || kind === 'host-port';
}
