// Browsers keep their own idea of whom to trust: the policies of an enterprise, read from /etc or from beside the program, and
// NSS's database in the home. Each gets the sandbox's CA there; none is told to verify less. Copies stand in for the system's.
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nssDatabase } from './nss-database.ts';
import { existingPaths } from './trust-bundle.ts';
import { copyFolder, isForEverybody, makeFolder, writeReadable } from './trust-folder.ts';
import type { MakeLink } from './trust-links.ts';

export interface BrowserPlace {
  /** Ours, below that of the trust. */
  readonly folder: string;
  readonly flavour: 'host' | 'image';
  readonly systemRoot: string;
  readonly makeLink: MakeLink;
}

export interface BrowserTrust {
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  /** NSS's database, for the home. Browsers write to it, and believe nothing in one that they cannot write to. */
  readonly database: string;
  /** `certificateInside`: where the sandbox sees its CA. */
  finish(certificate: Buffer, certificateInside: string): void;
}

/** Where a build of Chromium looks depends on its name: Debian's, Chrome, Chrome for Testing (Playwright's), Edge. */
const chromiumFolders = ['/etc/chromium', '/etc/opt/chrome', '/etc/opt/chrome_for_testing', '/etc/opt/edge'];
const chromiumPolicy = 'policies/managed/sallyport.json';

/** Firefox reads /etc/firefox whatever it is called, and beside its program. */
const firefoxFolders = [
  '/etc/firefox/policies',
  ...['firefox', 'firefox-esr', 'firefox-devedition'].flatMap((name) =>
    ['/usr/lib', '/usr/lib64', '/usr/share', '/opt'].map((top) => `${top}/${name}/distribution`),
  ),
];
const firefoxPolicy = 'policies.json';

export function layOutBrowsers(place: BrowserPlace): BrowserTrust {
  const database = join(place.folder, 'nssdb');
  makeFolder(place.folder);
  mkdirSync(database, { mode: 0o700, recursive: true });
  const { chromium, firefox, mounts } = place.flavour === 'host' ? overHost(place) : overImage(place);
  return {
    mounts,
    database,
    finish(certificate, certificateInside) {
      for (const file of chromium) writeReadable(file, asText(chromiumPolicies(certificate)));
      for (const file of firefox) {
        const policies = withCertificate(readPolicies(file), certificateInside);
        rmSync(file, { force: true });
        writeReadable(file, asText(policies));
      }
      // Private, as NSS itself makes it.
      const path = join(database, 'cert9.db');
      writeFileSync(path, nssDatabase(certificate, 'Sallyport sandbox'), { mode: 0o600, flag: 'wx' });
    },
  };
}

interface Layout extends Pick<BrowserTrust, 'mounts'> {
  /** Files to be written, in folders that are there. */
  readonly chromium: readonly string[];
  readonly firefox: readonly string[];
}

/** Only over folders that are there: nothing can be added to a system that is read-only. */
function overHost({ folder, systemRoot, makeLink }: BrowserPlace): Layout {
  const mounts: { source: string; target: string }[] = [];
  const copyAll = (paths: readonly string[], name: string): string[] =>
    existingPaths(paths, 'folder', systemRoot)
      .filter((target) => isForEverybody(systemRoot + target, 'folder'))
      .map((target, index) => {
        const source = join(folder, `${name}-${index}`);
        copyFolder(systemRoot + target, source, new Set(), makeLink);
        mounts.push({ source, target });
        return source;
      });
  const chromium = copyAll(chromiumFolders, 'chromium')
    // A link of the system there would lead what we write out of our copy.
    .filter((copy) => ['policies', 'policies/managed', chromiumPolicy].every((part) => !isOther(join(copy, part))))
    .map((copy) => {
      makeFolder(join(copy, 'policies/managed'));
      return join(copy, chromiumPolicy);
    });
  const firefox = copyAll(firefoxFolders, 'firefox').map((copy) => join(copy, firefoxPolicy));
  return { mounts, chromium, firefox };
}

/** A container has room for files anywhere. */
function overImage({ folder }: BrowserPlace): Layout {
  const chromium = join(folder, 'chromium.json');
  const firefox = join(folder, 'firefox.json');
  return {
    chromium: [chromium],
    firefox: [firefox],
    mounts: [
      ...chromiumFolders.map((target) => ({ source: chromium, target: join(target, chromiumPolicy) })),
      { source: firefox, target: '/etc/firefox/policies/policies.json' },
    ],
  };
}

/** There, and not a folder. */
function isOther(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isDirectory();
}

/** Those that the system has; what cannot be read as such counts as none. */
function readPolicies(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isObject(found) ? found : {};
  } catch {
    return {};
  }
}

/** A hidden name is refused in hosts of `tunnel: true`, and no resolver but the door's is to be had. */
function chromiumPolicies(certificate: Buffer): object {
  return {
    CACertificates: [certificate.toString('base64')],
    EncryptedClientHelloEnabled: false,
    DnsOverHttpsMode: 'off',
  };
}

function withCertificate(file: Record<string, unknown>, certificate: string): object {
  const policies = isObject(file.policies) ? file.policies : {};
  const certificates = isObject(policies.Certificates) ? policies.Certificates : {};
  const installed = Array.isArray(certificates.Install) ? certificates.Install : [];
  return {
    ...file,
    policies: {
      DNSOverHTTPS: { Enabled: false },
      ...policies,
      DisableEncryptedClientHello: true,
      Certificates: { ...certificates, Install: [...installed, certificate] },
    },
  };
}

function asText(policies: object): string {
  return `${JSON.stringify(policies, null, 2)}\n`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
