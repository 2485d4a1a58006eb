// A certificate authority for a pretend internet on loopback: its root goes under `upstream.ca` of the policy, its servers
// show a certificate for whatever name they are asked for. Kept in memory, and trusted by nobody else.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import {
  issueCaCertificate,
  issueLeafCertificate,
  issuerOf,
  subjectOf,
  toPem,
} from '../../stages/accept/tls/certificate.ts';

const dayMs = 24 * 60 * 60_000;

export interface PretendCa {
  /** PEM of the root. */
  readonly certificate: string;
  contextFor(host: string): SecureContext;
}

export function makePretendCa(now: number = Date.now()): PretendCa {
  const from = new Date(now - dayMs);
  const until = new Date(now + dayMs);
  const root = newKey();
  const rootCertificate = issueCaCertificate(
    'a pretend internet',
    subjectOf(root.publicKey),
    root.privateKey,
    from,
    until,
  );
  const issuer = issuerOf(rootCertificate, root.privateKey);
  const leaf = newKey();
  const subject = subjectOf(leaf.publicKey);
  const key = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const contexts = new Map<string, SecureContext>();
  return {
    certificate: toPem(rootCertificate),
    contextFor(host) {
      const known = contexts.get(host);
      if (known !== undefined) return known;
      const cert = toPem(issueLeafCertificate(host, subject, issuer, from, until));
      const made = createSecureContext({ key, cert });
      contexts.set(host, made);
      return made;
    },
  };
}

function newKey(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}
