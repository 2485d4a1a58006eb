// An identity CA for the tests of the shim: identities as registering hands them out, and certificates that a door, true or
// false, can show.
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IdentityFiles } from '../../../../src/sandbox/shim/identity.ts';
import {
  type Issuer,
  issueCaCertificate,
  issueClientCertificate,
  issueLeafCertificate,
  issuerOf,
  subjectOf,
  toPem,
} from '../../../../src/stages/accept/tls/certificate.ts';

const minuteMs = 60_000;
export const binding = '0123456789abcdef0123456789abcdef';

export interface IdentityOptions {
  readonly id?: string;
  readonly binding?: string;
  /** Minutes from now. */
  readonly from?: number;
  readonly until?: number;
}

export interface PretendIdentities {
  readonly ca: string;
  identity(options?: IdentityOptions): IdentityFiles;
  /** A certificate for somebody's public key (PEM). */
  certify(publicKey: string | KeyObject, options?: IdentityOptions): string;
  /** A server certificate and its key; `usage`: as openssl writes it, '' for none. */
  door(name?: string, usage?: string): { readonly cert: string; readonly key: string };
}

export function makeIdentities(): PretendIdentities {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const time = (minutes: number): Date => new Date(Date.now() + minutes * minuteMs);
  const caDer = issueCaCertificate('a pretend identity CA', subjectOf(publicKey), privateKey, time(-60), time(24 * 60));
  const ca = toPem(caDer);
  const issuer = issuerOf(caDer, privateKey);
  const certify = (key: string | KeyObject, options: IdentityOptions = {}): string => {
    const subject = subjectOf(typeof key === 'string' ? createPublicKey(key) : key);
    const uri = `sallyport:sandbox/${options.id ?? 'box'}/${options.binding ?? binding}`;
    return toPem(issueClientCertificate(uri, subject, issuer, time(options.from ?? -5), time(options.until ?? 60)));
  };
  return {
    ca,
    certify,
    identity(options) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return { ca, certificate: certify(pair.publicKey, options), key: pem(pair.privateKey) };
    },
    door(name = 'door.sallyport.internal', usage = 'serverAuth') {
      if (usage !== 'serverAuth') return byOpenssl(issuer, ca, name, usage);
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const cert = issueLeafCertificate(name, subjectOf(pair.publicKey), issuer, time(-5), time(60));
      return { cert: toPem(cert), key: pem(pair.privateKey) };
    },
  };
}

/** What our own code cannot write. */
function byOpenssl(issuer: Issuer, ca: string, name: string, usage: string): { cert: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-shim-ca-'));
  try {
    writeFileSync(join(directory, 'ca.pem'), ca);
    writeFileSync(join(directory, 'ca.key'), pem(issuer.key));
    const extension = usage === '' ? '' : `extendedKeyUsage=${usage}\n`;
    writeFileSync(join(directory, 'leaf.ext'), `subjectAltName=DNS:${name}\n${extension}`);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'leaf.key'];
    openssl('req', '-new', ...newKey, '-out', 'leaf.csr', '-subj', `/CN=${name}`);
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1', '-extfile', 'leaf.ext'];
    openssl('x509', '-req', '-in', 'leaf.csr', ...signing, '-out', 'leaf.pem');
    const read = (file: string): string => readFileSync(join(directory, file), 'utf8');
    return { cert: read('leaf.pem'), key: read('leaf.key') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
