// A CA for one sandbox alone, in memory alone: made with it and gone with it. Its key is never written anywhere. Beside the
// gateway only the launcher of that sandbox has it, so that the next gateway can go on where one has died.
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { issueCaCertificate, issuerOf, subjectOf, toPem } from './certificate.ts';
import type { SigningCa } from './leaf.ts';

/** Clocks in sandboxes run behind. */
const backdateMs = 3_600_000;
/**
 * A registration that is renewed by traffic can go on and on, and an end of the CA would be its end. The key is gone with
 * the sandbox, so that a nearer date would protect nobody.
 */
const lifetimeMs = 397 * 86_400_000;
/** RFC 5280 appendix A, ub-common-name. */
const maxCommonName = 64;

/** Both PEM. */
export interface KeptCa {
  readonly certificate: string;
  readonly key: string;
}

export interface SandboxCa extends SigningCa {
  readonly certificatePem: string;
  /** For the launcher. */
  readonly kept: () => KeptCa;
  /** SHA-256 of the certificate, as openssl prints it. */
  readonly fingerprint: string;
  readonly forOneSandbox: true;
}

export function makeSandboxCa(id: string, now: number): SandboxCa {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const notBefore = new Date(now - backdateMs);
  const notAfter = new Date(now - backdateMs + lifetimeMs);
  const name = nameOf(id);
  const der = issueCaCertificate(name, subjectOf(publicKey), privateKey, notBefore, notAfter);
  return asCa(der, name, privateKey, notBefore, notAfter);
}

/** The one that another gateway made for this sandbox. Throws where it is none. */
export function reopenSandboxCa(id: string, { certificate, key }: KeptCa): SandboxCa {
  const known = new X509Certificate(certificate);
  const privateKey = createPrivateKey(key);
  const name = nameOf(id);
  if (!known.ca || !known.checkPrivateKey(privateKey) || known.subject !== `CN=${name}`)
    throw new Error(`this is not the CA of sandbox ${id} with its key`);
  return asCa(known.raw, name, privateKey, new Date(known.validFrom), new Date(known.validTo));
}

function nameOf(id: string): string {
  return `Sallyport CA for sandbox ${id}`.slice(0, maxCommonName);
}

function asCa(der: Buffer, name: string, privateKey: KeyObject, notBefore: Date, notAfter: Date): SandboxCa {
  const certificatePem = toPem(der);
  return {
    certificatePem,
    kept: () => ({ certificate: certificatePem, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }),
    subject: `CN=${name}`,
    fingerprint: new X509Certificate(der).fingerprint256,
    notBefore,
    notAfter,
    issuer: issuerOf(der, privateKey),
    forOneSandbox: true,
  };
}
