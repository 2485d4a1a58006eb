// Java's trust store, in the JKS format that every Java since 1.2 reads: the same roots as the bundle's and ours. It holds
// certificates alone, so its password protects nothing; it is the one that every Java expects.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';

export const javaStorePassword = 'changeit';

/** Where a system's Java, or all of them, look for trust; `*` is one folder name. */
export const javaStorePaths: readonly string[] = [
  '/etc/ssl/certs/java/cacerts', // Debian
  '/etc/pki/ca-trust/extracted/java/cacerts', // Fedora, RHEL
  '/etc/pki/java/cacerts',
  '/var/lib/ca-certificates/java-cacerts', // openSUSE
  '/etc/ssl/certs/java-cacerts', // Alpine
  '/etc/ca-certificates/extracted/java-cacerts.jks', // Arch
  '/usr/lib/jvm/*/lib/security/cacerts',
  '/usr/lib/jvm/*/jre/lib/security/cacerts', // Java 8
  '/usr/java/*/lib/security/cacerts',
  '/usr/local/*/lib/security/cacerts',
  '/opt/*/lib/security/cacerts',
  '/opt/java/*/lib/security/cacerts',
];

/** The patterns with their `*` replaced by the folders that are there. */
export function expandPaths(patterns: readonly string[], systemRoot = ''): readonly string[] {
  return patterns.flatMap((pattern) => {
    const [before, after] = pattern.split('*');
    if (before === undefined || after === undefined) return [pattern];
    return foldersIn(systemRoot + before).map((name) => before + name + after);
  });
}

/** RFC none: the layout is that of OpenJDK's sun.security.provider.JavaKeyStore. */
export function encodeJavaStore(certificates: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [int(0xfeedfeed), int(2), int(certificates.length)];
  for (const [index, der] of certificates.entries()) {
    // The date of entry is shown by keytool and used by nobody: a fixed one keeps the file the same for the same roots.
    parts.push(int(trustedCertificate), text(`root-${index}`), Buffer.alloc(8), text('X.509'), int(der.length), der);
  }
  const content = Buffer.concat(parts);
  const password = Buffer.from(javaStorePassword, 'utf16le').swap16();
  // A keyed hash of sorts, with the whitener that the format prescribes.
  const digest = createHash('sha1').update(password).update('Mighty Aphrodite').update(content).digest();
  return Buffer.concat([content, digest]);
}

const trustedCertificate = 2;

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** DataOutput.writeUTF: for ASCII the bytes behind a two-byte length. */
function text(value: string): Buffer {
  const bytes = Buffer.alloc(2 + value.length);
  bytes.writeUInt16BE(value.length);
  bytes.write(value, 2, 'latin1');
  return bytes;
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
