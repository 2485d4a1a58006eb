// A CA for one sandbox alone, in memory alone: made with it and gone with it. Its key is never written anywhere and never
// leaves this process, so that no sandbox's trust can be used against another.
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
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

export interface SandboxCa extends SigningCa {
  readonly certificatePem: string;
  /** SHA-256 of the certificate, as openssl prints it. */
  readonly fingerprint: string;
  readonly forOneSandbox: true;
}

export function makeSandboxCa(id: string, now: number): SandboxCa {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const notBefore = new Date(now - backdateMs);
  const notAfter = new Date(now - backdateMs + lifetimeMs);
  const name = `Sallyport CA for sandbox ${id}`.slice(0, maxCommonName);
  const der = issueCaCertificate(name, subjectOf(publicKey), privateKey, notBefore, notAfter);
  return {
    certificatePem: toPem(der),
    subject: `CN=${name}`,
    fingerprint: new X509Certificate(der).fingerprint256,
    notBefore,
    notAfter,
    issuer: issuerOf(der, privateKey),
    forOneSandbox: true,
  };
}
