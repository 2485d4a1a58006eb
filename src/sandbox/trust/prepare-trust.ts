// What makes unmodified clients in a sandbox believe its CA: a bundle of the system's roots and ours bound over the
// system's own, a folder of certificates, Java's trust store, and the variables for clients that read none of these.
// Writes only into the folder it is given. Certificates alone: a key never comes near it.
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
import { encodeJavaStore, expandPaths, javaStorePassword, javaStorePaths } from './trust-java.ts';
import { linksKeptIn } from './trust-links.ts';
import { subjectHash } from './trust-subject-hash.ts';
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
  const { folder, inside } = place;
  const bundle = `${inside}/${bundleName}`;
  return {
    mounts: inside === folder ? layout.mounts : [readOnly(folder, inside), ...layout.mounts],
    variables: {
      ...trustVariables({ bundle, certificate: `${inside}/${ourName}` }),
      // Java prints a line whenever this is set, so only where no store lies in its way.
      ...(layout.javaServed ? {} : { JAVA_TOOL_OPTIONS: javaOptions(`${inside}/${storeName}`) }),
    },
    bundle,
    finish: (caPem) => finish(folder, layout, { roots, rootsPem }, caPem),
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

function finish(folder: string, layout: Layout, system: System, caPem: string): void {
  const ours = certificatesIn(caPem);
  if (ours.length !== 1) throw new Error(`the sandbox's CA is one certificate in PEM, not ${ours.length}`);
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
}

function javaOptions(store: string): string {
  return `-Djavax.net.ssl.trustStore=${store} -Djavax.net.ssl.trustStorePassword=${javaStorePassword}`;
}

function readOnly(source: string, target: string): TrustMount {
  return { kind: 'read-only', source, target };
}
