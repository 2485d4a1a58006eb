// Removes the user's own configuration in ~/.config/sallyport. One in a project, or named by a variable, belongs to whoever put
// it there and is only reported. Also reports a Sallyport CA that somebody added to the system's trusted CAs.
import { X509Certificate } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { codeOf, type Found, type KeptItem, type Removable } from './uninstall-item.ts';

const fileName = 'sallyport.yaml';
const maxCertificateBytes = 256 * 1024;

/** Where an administrator puts a CA, and what makes the system forget it. */
const trustFolders: readonly (readonly [folder: string, forget: string])[] = [
  ['/usr/local/share/ca-certificates', 'update-ca-certificates --fresh'],
  ['/etc/pki/ca-trust/source/anchors', 'update-ca-trust'],
  ['/etc/ca-certificates/trust-source/anchors', 'trust extract-compat'],
  ['/usr/share/pki/trust/anchors', 'update-ca-certificates'],
  ['/etc/pki/trust/anchors', 'update-ca-certificates'],
];

export interface ConfigOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly userHome: string;
}

export function findConfiguration({ env, cwd, userHome }: ConfigOptions): Found {
  const folder = join(userHome, '.config', 'sallyport');
  const file = join(folder, fileName);
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  const why = whyNotOurs(folder, file);
  if (why === null) removable.push({ ...configurationAt(folder, file) });
  else if (why !== '') kept.push({ what: file, why, how: `Look at it, then: rm -- ${quoteForShell(file)}` });
  const named = env.SALLYPORT_CONFIG ? [resolve(cwd, env.SALLYPORT_CONFIG)] : [];
  for (const other of new Set([...named, join(cwd, fileName)])) {
    if (other === file || lstatSync(other, { throwIfNoEntry: false }) === undefined) continue;
    kept.push({ what: other, why: 'belongs to the project it lies in', how: `rm -- ${quoteForShell(other)}` });
  }
  return { removable, kept };
}

/** Null: it is the user's own. Empty: there is none. */
function whyNotOurs(folder: string, file: string): string | null {
  const [place, found] = [folder, file].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (place === undefined || found === undefined) return '';
  if (!place.isDirectory()) return 'is reached through a link: Sallyport does not remove what is behind it';
  const uid = process.geteuid?.();
  if (place.uid !== uid || found.uid !== uid) return 'belongs to another user';
  // Of a link only the link goes.
  return found.isFile() || found.isSymbolicLink() ? null : 'is not a file';
}

function configurationAt(folder: string, file: string): Removable {
  return {
    kind: 'configuration',
    what: file,
    detail: lstatSync(file).isSymbolicLink() ? 'your configuration: a link, whose target stays' : 'your configuration',
    how: `rm -- ${quoteForShell(file)}`,
    async remove() {
      // Through a folder that was judged just now: its name may lead elsewhere since it was listed.
      const why = whyNotOurs(folder, file);
      if (why !== null) throw new Error(why === '' ? 'it is gone already' : `it ${why}`);
      unlinkSync(file);
      try {
        rmdirSync(folder);
      } catch (error) {
        // What else the user keeps there is theirs.
        if (!['ENOTEMPTY', 'EACCES', 'EEXIST'].includes(codeOf(error))) throw error;
      }
    },
  };
}

/** Sallyport never puts its CA there: if it is, somebody did, and the whole machine trusts whoever holds its key. */
export function findTrustedCas(folders = trustFolders): KeptItem[] {
  return folders.flatMap(([folder, forget]) =>
    namesIn(folder)
      .map((name) => join(folder, name))
      .filter(holdsOurs)
      .map((path) => ({
        what: path,
        why: 'is a CA of Sallyport that somebody made the whole system trust (Sallyport itself never does)',
        how: `sudo rm -- ${quoteForShell(path)} && sudo ${forget}`,
      })),
  );
}

function holdsOurs(path: string): boolean {
  const text = readBounded(path) ?? '';
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.some((block) => {
    try {
      return /^(?:CN|O)=Sallyport\b/m.test(new X509Certificate(block).subject);
    } catch {
      return false;
    }
  });
}

function readBounded(path: string): string | null {
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(fd);
    return found.isFile() && found.size <= maxCertificateBytes ? readFileSync(fd, 'latin1') : null;
  } catch {
    return null;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
