// The roots that this machine trusts, read from wherever its system keeps them, and PEM made of them: whatever the
// original's line ends, comments or missing last newline, what comes out is plain. Never writes to the system's files.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** Where systems keep their bundle, the most usual first; several names are often one file. */
export const systemBundlePaths: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Arch, Alpine, Gentoo
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora, RHEL
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem', // Fedora, RHEL: the file itself
  '/etc/ssl/cert.pem', // Alpine, and OpenSSL's own default
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/ssl/certs/ca-bundle.crt', // NixOS
  '/var/lib/ca-certificates/ca-bundle.pem', // openSUSE: the file itself
];

/**
 * The certificates of the first bundle that has any. A machine without one gets Node's own roots, by which the gateway itself
 * judges upstreams: with our CA alone, hosts of `tunnel: true` rules could not be verified inside.
 */
export function readSystemRoots(systemRoot = ''): readonly Buffer[] {
  for (const path of systemBundlePaths) {
    const text = readText(systemRoot + path);
    const found = text === null ? [] : certificatesIn(text);
    if (found.length > 0) return found;
  }
  return certificatesIn(rootCertificates.join('\n'));
}

/** Those that exist, with links resolved, each real one once. */
export function existingPaths(paths: readonly string[], kind: 'file' | 'folder', systemRoot = ''): readonly string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const real = realPath(systemRoot + path, kind);
    if (real !== null) found.add(real.slice(systemRoot.length));
  }
  return [...found];
}

/** Every certificate in a PEM text, as DER, without repetition. What is not whole is left out: one bad block makes
 *  some clients refuse the entire file. */
export function certificatesIn(text: string): readonly Buffer[] {
  const found = new Map<string, Buffer>();
  // OpenSSL's TRUSTED CERTIFICATE has more than a certificate in it; only OpenSSL reads that.
  for (const [, body] of text.matchAll(/-----BEGIN (?:X509 )?CERTIFICATE-----([^-]+)-----END/g)) {
    const der = Buffer.from(body!, 'base64');
    if (isWhole(der)) found.set(der.toString('latin1'), der);
  }
  return [...found.values()];
}

export function toPem(certificates: readonly Buffer[]): string {
  return certificates
    .map((der) => {
      const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
      return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
    })
    .join('');
}

/** A DER SEQUENCE with a two-byte length that is exactly its own: every certificate of 256 bytes to 64 KiB. */
function isWhole(der: Buffer): boolean {
  return der.length > 4 && der.readUInt16BE(0) === 0x3082 && der.readUInt16BE(2) === der.length - 4;
}

/** null: not there, or not for us. */
export function readText(path: string): string | null {
  try {
    // Comments may be in any encoding; the certificates are ASCII.
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}

/** null: not on this system, a link to nowhere, or something else. */
function realPath(path: string, kind: 'file' | 'folder'): string | null {
  try {
    const real = realpathSync(path);
    const found = statSync(real);
    return (kind === 'file' ? found.isFile() : found.isDirectory()) ? real : null;
  } catch {
    return null;
  }
}
