// What an identity certificate says, and the one way of writing and of reading it. Must never find a sandbox in anything
// but the exact form: a name that could be read in two ways would be two sandboxes.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ShownCertificate } from '../../../path/flow.ts';

/** Asked for by ALPN on the mTLS door: one line with a new public key, one line with its certificate. */
export const renewalProtocol = 'sallyport-identity/1';

/** A client of the mTLS door whose certificate was verified. */
export interface ProvenClient {
  readonly certificate: ShownCertificate;
  /** The TCP connection below its TLS. */
  readonly transport: Socket;
}

// As `identify/` writes them: a registration's id, and 16 random bytes in hex.
const id = '[a-z0-9][a-z0-9_.-]{0,62}';
const binding = '[0-9a-f]{32}';
const uriForm = new RegExp(`^sallyport:sandbox/(${id})/(${binding})$`);
const shownForm = new RegExp(`^URI:sallyport:sandbox/(${id})/(${binding})$`);

export function identityUri({ sandboxId, binding }: ShownCertificate): string {
  const uri = `sallyport:sandbox/${sandboxId}/${binding}`;
  if (uriForm.test(uri)) return uri;
  throw new Error(`no identity is made for ${JSON.stringify(uri)}: not the id and binding of a registration`);
}

/** Null: it names no sandbox, or more than one thing. Whether it is genuine is for OpenSSL to say, before this. */
export function readIdentity(certificate: X509Certificate): ShownCertificate | null {
  // All alternative names in one line, so that the whole of it must be the one name.
  const found = shownForm.exec(certificate.subjectAltName ?? '');
  return found === null ? null : { sandboxId: found[1]!, binding: found[2]! };
}

/** Connections are counted by registration: behind one address there may be many sandboxes. */
export function countedAs({ sandboxId, binding }: ShownCertificate): string {
  return `certificate ${sandboxId}/${binding}`;
}
