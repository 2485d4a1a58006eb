// Certificates that nobody of ours would sign, made with openssl: by any CA whose key the test holds, or by itself, with
// whatever extensions the test writes in openssl's words.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ShownIdentity } from './mtls-client.ts';

export interface Forgery {
  /** Folder with `ca.pem` and `ca.key` of who signs; null: signed by itself. */
  readonly signer: string | null;
  /** Lines of openssl's extension file. */
  readonly extensions: readonly string[];
  readonly subject?: string;
}

export function forgeCertificate({ signer, extensions, subject = '/CN=Sallyport sandbox' }: Forgery): ShownIdentity {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-forged-'));
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  };
  try {
    writeFileSync(join(directory, 'leaf.ext'), `${extensions.join('\n')}\n`);
    openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'leaf.key');
    openssl('req', '-new', '-key', 'leaf.key', '-subj', subject, '-out', 'leaf.csr');
    const by = signer === null ? ['-signkey', 'leaf.key'] : ['-CA', `${signer}/ca.pem`, '-CAkey', `${signer}/ca.key`];
    const serial = signer === null ? [] : ['-set_serial', '0x4000000000000001'];
    const made = ['-days', '1', '-sha256', '-extfile', 'leaf.ext', '-out', 'leaf.pem'];
    openssl('x509', '-req', '-in', 'leaf.csr', ...by, ...serial, ...made);
    const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
    return { certificate: read('leaf.pem'), key: read('leaf.key') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What a genuine identity carries, for the sandbox that is claimed. */
export function identityExtensions(claimed: {
  readonly id: string;
  readonly certificateBinding: string | null;
}): string[] {
  return [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=clientAuth',
    `subjectAltName=URI:sallyport:sandbox/${claimed.id}/${claimed.certificateBinding}`,
  ];
}
