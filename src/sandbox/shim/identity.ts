// What a sandbox proves itself with at the mTLS door: a certificate from the identity CA and its key. Read strictly:
// what does not fit together is refused here and not by the gateway later. Never prints the key or hands it out.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ShimRefused } from './shim-refused.ts';

export interface IdentityFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

export interface Identity {
  readonly sandboxId: string;
  /** The one name in the certificate: sandbox and registration. */
  readonly name: string;
  readonly validFromMs: number;
  readonly validUntilMs: number;
  readonly ca: X509Certificate;
  readonly files: IdentityFiles;
  /** Trusts the identity CA and nothing else, whatever roots the machine or the environment name. */
  readonly context: SecureContext;
}

const clientAuth = '1.3.6.1.5.5.7.3.2';
const sandboxName = /^URI:(sallyport:sandbox\/([A-Za-z0-9_.-]+)\/[A-Za-z0-9_-]+)$/;

export function readIdentity(files: IdentityFiles): Identity {
  const ca = readCertificate(files.ca, 'ca.pem');
  if (!ca.ca) throw unfit('ca.pem is not the certificate of a CA');
  const certificate = readCertificate(files.certificate, 'certificate.pem');
  if (!certificate.checkIssued(ca) || !certificate.verify(ca.publicKey)) {
    throw unfit('certificate.pem is not signed by the CA in ca.pem');
  }
  if (!certificate.checkPrivateKey(readKey(files.key))) throw new KeyOfAnother();
  if (certificate.ca || certificate.keyUsage?.includes(clientAuth) !== true) {
    throw unfit('certificate.pem is not made for a client');
  }
  const found = sandboxName.exec(certificate.subjectAltName ?? '');
  if (found === null) throw unfit('certificate.pem names no sandbox');
  return {
    name: found[1]!,
    sandboxId: found[2]!,
    validFromMs: Date.parse(certificate.validFrom),
    validUntilMs: Date.parse(certificate.validTo),
    ca,
    files,
    context: createSecureContext({
      cert: certificate.toString(),
      key: files.key,
      // With a list of its own Node takes neither its built-in roots nor NODE_EXTRA_CA_CERTS.
      ca: [ca.toString()],
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
    }),
  };
}

/** Half of its life is over. */
export function isDue(identity: Identity, nowMs: number): boolean {
  return nowMs >= renewalTime(identity);
}

export function renewalTime({ validFromMs, validUntilMs }: Identity): number {
  return (validFromMs + validUntilMs) / 2;
}

export function hasEnded({ validUntilMs }: Identity, nowMs: number): boolean {
  return nowMs >= validUntilMs;
}

/** The only misfit that a crash between two writes can make: the folder then looks for the other key. */
export class KeyOfAnother extends ShimRefused {
  constructor() {
    super('key.pem is not the key of certificate.pem', registerAgain);
  }
}

export const registerAgain =
  'Register the sandbox again with the proof mtls, and put the identity it is given into the folder.';

function readCertificate(pem: string, file: string): X509Certificate {
  if (pem.split('-----BEGIN CERTIFICATE-----').length !== 2)
    throw unfit(`${file} does not hold exactly one certificate`);
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new ShimRefused(`${file} does not hold a certificate that can be read`, registerAgain, cause);
  }
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // Without its cause: nothing that was read from this file is repeated anywhere.
    throw unfit('key.pem does not hold a private key that can be read');
  }
}

function unfit(problem: string): ShimRefused {
  return new ShimRefused(problem, registerAgain);
}
