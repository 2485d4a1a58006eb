// A copy of a folder of certificates (/etc/ssl/certs with its HASH.0 links) in which ours take the place of single files. It
// is bound over the original, so links stay as they are. Never copies what not everybody may read: run by root, it would
// hand the sandbox a key that lies there.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { certificatesIn, readText, toPem } from './trust-bundle.ts';
import type { MakeLink } from './trust-links.ts';

/** Far more than any system has; a folder that is deeper or fuller is not one of certificates. */
const maxDepth = 3;
const maxEntries = 5000;

/** Everything but `without`: paths in the original that `putInPlace` brings later. */
export function copyFolder(original: string, copy: string, without: ReadonlySet<string>, makeLink: MakeLink): void {
  copyLevel(original, copy, { without, makeLink, depth: 0, entries: 0 });
}

/** A file of ours under another name, at no cost: both lie in the same folder of ours. */
export function putInPlace(file: string, path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  linkSync(file, path);
}

/** Only what OpenSSL looks for, every entry as a file of its own: for a file system where the links lead nowhere. */
export function copyHashedEntries(original: string, copy: string): void {
  makeFolder(copy);
  const names = namesIn(original).filter((name) => hashedName.test(name));
  for (const name of names.slice(0, maxEntries)) {
    const certificates = certificatesIn(readText(`${original}/${name}`) ?? '');
    if (certificates.length > 0) writeReadable(`${copy}/${name}`, toPem(certificates));
  }
}

/** `HASH.0`, or the next number when another CA has the same hash. */
export function addHashedEntry(folder: string, hash: string, certificatePem: string): void {
  const taken = new Set(namesIn(folder));
  let number = 0;
  while (taken.has(`${hash}.${number}`)) number++;
  writeReadable(`${folder}/${hash}.${number}`, certificatePem);
}

/** Readable for whoever the sandbox runs as, whatever our umask. */
export function writeReadable(path: string, content: string | Uint8Array): void {
  writeFileSync(path, content, { flag: 'wx' });
  chmodSync(path, 0o444);
}

export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

const hashedName = /^[0-9a-f]{8}\.\d+$/;

interface Copying {
  readonly without: ReadonlySet<string>;
  readonly makeLink: MakeLink;
  depth: number;
  entries: number;
}

function copyLevel(original: string, copy: string, at: Copying): void {
  makeFolder(copy);
  for (const entry of readdirSync(original, { withFileTypes: true })) {
    if (++at.entries > maxEntries) return;
    const from = `${original}/${entry.name}`;
    const to = `${copy}/${entry.name}`;
    if (at.without.has(from)) continue;
    if (entry.isSymbolicLink()) at.makeLink(readlinkSync(from), to);
    else if (entry.isDirectory()) {
      // An empty folder or file in place of what is left out: a launcher that masks it needs a place to do so.
      if (at.depth + 1 < maxDepth && isForEverybody(from, 'folder')) {
        at.depth++;
        copyLevel(from, to, at);
        at.depth--;
      } else makeFolder(to);
    } else if (entry.isFile() && isForEverybody(from, 'file')) copyFileSync(from, to);
    else writeReadable(to, '');
  }
}

export function isForEverybody(path: string, kind: 'file' | 'folder'): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  const wanted = kind === 'file' ? 0o004 : 0o005;
  return (
    found !== undefined && (kind === 'file' ? found.isFile() : found.isDirectory()) && (found.mode & wanted) === wanted
  );
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
