// What makes unmodified clients in a sandbox believe its CA: a bundle of the system's roots and ours bound over the
// system's own, a folder of certificates, Java's trust store, and the variables for clients that read none of these.
// Writes only into the folder it is given. Certificates alone: a key never comes near it.
import { createHash, X509Certificate } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { layOutBrowsers } from './browser-trust.ts';
import { certificatesIn, existingPaths, readSystemRoots, systemBundlePaths, toPem } from './trust-bundle.ts';
import {
  addHashedEntry,
  copyFolder,
  copyHashedEntries,
  isForEverybody,
  makeFolder,
  putInPlace,
  writeReadable,
} from './trust-folder.ts';
import { linksKeptIn } from './trust-links.ts';
import { trustVariables } from './trust-variables.ts';

export interface TrustPlace {
  /** A folder for this alone, below one that only we may enter; made if it is not there, removed by the caller. */
  readonly folder: string;
  /** `host`: the sandbox sees this machine's system. `image`: one that we cannot look into. */
  readonly flavour: 'host' | 'image';
  /** Where the sandbox sees `folder`; the same path when it sees the host's files as they are. */
  readonly inside: string;
  /** Keeps what makes the next start faster; on the file system of `folder`, made if it is not there, never shown inside. */
  readonly cache?: string;
  /** Where the system's files lie, when not at the root: for tests. */
  readonly systemRoot?: string;
}

/** What browsers find of NSS in the home, which they write to. */
export const homeDatabase = '.pki/nssdb';

/** A read-only bind. Mount them in order, after the system and before the masks. */
export interface TrustMount {
  readonly kind: 'read-only';
  readonly source: string;
  readonly target: string;
}

export interface Trust {
  readonly mounts: readonly TrustMount[];
  readonly variables: Readonly<Record<string, string>>;
  /** The bundle as the sandbox sees it. */
  readonly bundle: string;
  /** A folder of its own, to be bound in the home as `homeDatabase`, to read and to write. */
  readonly database: string;
}

/** The system's part is laid out, and all but the files' content is known; `finish` adds the sandbox's CA. */
export interface BegunTrust extends Trust {
  finish(caPem: string): void;
}

export function prepareTrust(options: TrustPlace & { readonly caPem: string }): Trust {
  const trust = beginTrust(options);
  trust.finish(options.caPem);
  return trust;
}

/** The slower part, which needs no CA: begin it while the network namespace is being made. */
export function beginTrust(place: TrustPlace): BegunTrust {
  makeFolder(place.folder);
  const roots = readSystemRoots(place.systemRoot);
  const rootsPem = toPem(roots);
  const layout = place.flavour === 'host' ? layOutHost(place) : layOutImage(place);
  const { folder, inside, cache, flavour, systemRoot = '' } = place;
  const makeLink = linksKeptIn(cache);
  const browsers = layOutBrowsers({ folder: `${folder}/browsers`, flavour, systemRoot, makeLink });
  const mounts = [...layout.mounts, ...browsers.mounts.map(({ source, target }) => readOnly(source, target))];
  const bundle = `${inside}/${bundleName}`;
  return {
    mounts: inside === folder ? mounts : [readOnly(folder, inside), ...mounts],
    variables: {
      ...trustVariables({ bundle, certificate: `${inside}/${ourName}` }),
      // Java prints a line whenever this is set, so only where no store lies in its way.
      ...(layout.javaServed ? {} : { JAVA_TOOL_OPTIONS: javaOptions(`${inside}/${storeName}`) }),
    },
    bundle,
    database: browsers.database,
    finish: (caPem) => {
      const certificate = finish(folder, layout, { roots, rootsPem }, caPem);
      browsers.finish(certificate, `${inside}/${ourName}`);
    },
  };
}

const bundleName = 'ca-bundle.pem';
const storeName = 'cacerts.jks';
const ourName = 'sallyport-sandbox.pem';

/** Folders that OpenSSL searches by the hash of a name; others read every file in them. */
const hashedFolders = ['/etc/ssl/certs', '/etc/pki/tls/certs'];
/** Folders that p11-kit, and through it GnuTLS on Fedora and Arch, reads instead of any bundle. */
const anchorFolders = ['/etc/pki/ca-trust/source/anchors', '/etc/ca-certificates/trust-source/anchors'];

interface Layout {
  readonly mounts: readonly TrustMount[];
  /** Copies of system folders, by what they need of ours. */
  readonly hashed: readonly string[];
  readonly anchors: readonly string[];
  /** Where in those copies the bundle and the store go. */
  readonly bundles: readonly string[];
  readonly stores: readonly string[];
  /** Some Java finds our store by itself. */
  readonly javaServed: boolean;
}

/** Over what this machine has: every real folder and file once, files only where no folder of ours covers them. */
function layOutHost({ folder, cache, systemRoot = '' }: TrustPlace): Layout {
  const bundleFiles = existingPaths(systemBundlePaths, 'file', systemRoot);
  const storeFiles = existingPaths(expandPaths(javaStorePaths, systemRoot), 'file', systemRoot);
  const ours = new Set([...bundleFiles, ...storeFiles].map((path) => systemRoot + path));
  const mounts: TrustMount[] = [];
  const makeLink = linksKeptIn(cache);
  const copyAll = (paths: readonly string[], name: string): string[] =>
    existingPaths(paths, 'folder', systemRoot)
      .filter((target) => isForEverybody(systemRoot + target, 'folder'))
      .map((target, index) => {
        const source = `${folder}/${name}-${index}`;
        copyFolder(systemRoot + target, source, ours, makeLink);
        mounts.push(readOnly(source, target));
        return source;
      });
  const hashed = copyAll(hashedFolders, 'certs');
  const anchors = copyAll(anchorFolders, 'anchors');
  const place = (files: readonly string[], name: string): string[] =>
    files.flatMap((file) => {
      const cover = mounts.find((mount) => file.startsWith(`${mount.target}/`));
      if (cover !== undefined) return [cover.source + file.slice(cover.target.length)];
      mounts.push(readOnly(`${folder}/${name}`, file));
      return [];
    });
  const bundles = place(bundleFiles, bundleName);
  const stores = place(storeFiles, storeName);
  return { mounts, hashed, anchors, bundles, stores, javaServed: storeFiles.length > 0 };
}

/** Over the usual places of any image, with this machine's roots: the image's own cannot be read from here. */
function layOutImage({ folder, systemRoot = '' }: TrustPlace): Layout {
  const copy = `${folder}/certs`;
  makeFolder(copy);
  const original = existingPaths(hashedFolders, 'folder', systemRoot)[0];
  if (original !== undefined) copyHashedEntries(systemRoot + original, copy);
  return {
    // On Fedora /etc/ssl/certs is a link to /etc/pki/tls/certs: the copy then serves both, so it has both names.
    mounts: [
      readOnly(copy, '/etc/ssl/certs'),
      ...['/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/ca-bundle.pem', '/etc/ssl/cert.pem'].map((target) =>
        readOnly(`${folder}/${bundleName}`, target),
      ),
    ],
    hashed: [copy],
    anchors: [],
    bundles: ['ca-certificates.crt', 'ca-bundle.crt'].map((name) => `${copy}/${name}`),
    stores: [`${copy}/java/cacerts`],
    // Debian's packages find it there; a JDK of its own, as most Java images have, does not.
    javaServed: false,
  };
}

interface System {
  readonly roots: readonly Buffer[];
  readonly rootsPem: string;
}

/** Returns the CA. */
function finish(folder: string, layout: Layout, system: System, caPem: string): Buffer {
  const ours = certificatesIn(caPem);
  const [certificate] = ours;
  if (certificate === undefined || ours.length > 1)
    throw new Error(`the sandbox's CA is one certificate in PEM, not ${ours.length}`);
  const pem = toPem(ours);
  // Ours first: a reader that stops at something odd in a root has read it.
  writeReadable(`${folder}/${bundleName}`, pem + system.rootsPem);
  writeReadable(`${folder}/${storeName}`, encodeJavaStore([...ours, ...system.roots]));
  writeReadable(`${folder}/${ourName}`, pem);
  const hash = subjectHash(pem);
  for (const copy of layout.hashed) addHashedEntry(copy, hash, pem);
  for (const copy of layout.anchors) putInPlace(`${folder}/${ourName}`, `${copy}/${ourName}`);
  for (const path of layout.bundles) putInPlace(`${folder}/${bundleName}`, path);
  for (const path of layout.stores) putInPlace(`${folder}/${storeName}`, path);
  return certificate;
}

function javaOptions(store: string): string {
  return `-Djavax.net.ssl.trustStore=${store} -Djavax.net.ssl.trustStorePassword=${javaStorePassword}`;
}

function readOnly(source: string, target: string): TrustMount {
  return { kind: 'read-only', source, target };
}

// The name under which OpenSSL looks for a CA in a folder of certificates: X509_NAME_hash, what `openssl x509 -hash`
// prints. Made for the plain names that our own CAs have; any other is an error, never a wrong hash.
export function subjectHash(certificatePem: string): string {
  const { subject } = new X509Certificate(certificatePem);
  const parts = subject.split('\n').map((line) => {
    const [, type = '', value = ''] = /^(\w+)=([\x20-\x7e]+)$/.exec(line) ?? [];
    const attribute = attributes[type];
    // A backslash escapes something, a plus may join two attributes into one.
    if (attribute === undefined || /[\\+]/.test(value))
      throw new Error(
        `the CA's subject ${JSON.stringify(subject)} is not plain: make it of CN, O and OU in plain letters`,
      );
    return set(sequence(Buffer.concat([objectId(attribute), utf8(canonical(value))])));
  });
  const digest = createHash('sha1').update(Buffer.concat(parts)).digest();
  return digest.readUInt32LE(0).toString(16).padStart(8, '0');
}

/** The last number of 2.5.4.N. */
const attributes: Readonly<Record<string, number>> = { CN: 3, O: 10, OU: 11 };

/** asn1_string_canon in OpenSSL's x_name.c: one blank between words, none around them, ASCII in lower case. */
function canonical(value: string): string {
  return value.trim().replace(/ +/g, ' ').toLowerCase();
}

function objectId(last: number): Buffer {
  return Buffer.from([0x06, 3, 0x55, 0x04, last]);
}

function utf8(value: string): Buffer {
  return tagged(0x0c, Buffer.from(value));
}

function sequence(content: Buffer): Buffer {
  return tagged(0x30, content);
}

function set(content: Buffer): Buffer {
  return tagged(0x31, content);
}

function tagged(tag: number, content: Buffer): Buffer {
  // RFC 5280 allows names of up to 64 characters, so the short form of the length is enough.
  if (content.length > 127) throw new Error('the CA has a name of more than 64 characters: make it shorter');
  return Buffer.concat([Buffer.from([tag, content.length]), content]);
}

// Java's trust store, in the JKS format that every Java since 1.2 reads: the same roots as the bundle's and ours. It holds
// certificates alone, so its password protects nothing; it is the one that every Java expects.
const javaStorePassword = 'changeit';

/** Where a system's Java, or all of them, look for trust; `*` is one folder name. */
const javaStorePaths: readonly string[] = [
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
function expandPaths(patterns: readonly string[], systemRoot = ''): readonly string[] {
  return patterns.flatMap((pattern) => {
    const [before, after] = pattern.split('*');
    if (before === undefined || after === undefined) return [pattern];
    return foldersIn(systemRoot + before).map((name) => before + name + after);
  });
}

/** RFC none: the layout is that of OpenJDK's sun.security.provider.JavaKeyStore. */
function encodeJavaStore(certificates: readonly Buffer[]): Buffer {
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
