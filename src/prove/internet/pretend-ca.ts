// A certificate authority for a pretend internet on loopback: its root goes under `upstream.ca` of the policy, its servers
// show a certificate for whatever name they are asked for. Kept in memory, and trusted by nobody else. Tests use it too.
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
  /** PEM for a server of these names, good for so many days from now, 2 by default; a negative number: expired. */
  issue(names: readonly [string, ...string[]], days?: number): { readonly key: string; readonly cert: string };
  contextFor(host: string): SecureContext;
}

export function makePretendCa(now: number = Date.now()): PretendCa {
  const inDays = (days: number): Date => new Date(now + days * dayMs);
  const from = inDays(-3);
  const root = newKey();
  const rootCertificate = issueCaCertificate(
    'a pretend internet',
    subjectOf(root.publicKey),
    root.privateKey,
    from,
    inDays(3),
  );
  const issuer = issuerOf(rootCertificate, root.privateKey);
  const leaf = newKey();
  const subject = subjectOf(leaf.publicKey);
  const key = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const issue: PretendCa['issue'] = ([name, ...others], days = 2) => ({
    key,
    cert: toPem(issueLeafCertificate(name, subject, issuer, from, inDays(days), others)),
  });
  const contexts = new Map<string, SecureContext>();
  return {
    certificate: toPem(rootCertificate),
    issue,
    contextFor(host) {
      const known = contexts.get(host);
      if (known !== undefined) return known;
      const made = createSecureContext(issue([host]));
      contexts.set(host, made);
      return made;
    },
  };
}

function newKey(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}
