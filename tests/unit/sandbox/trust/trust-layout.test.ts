// Where trust is bound on systems that keep their certificates differently, and what lies in what is bound.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareTrust, subjectHash, type Trust } from '../../../../src/sandbox/trust/prepare-trust.ts';
import { certificatesIn } from '../../../../src/sandbox/trust/trust-bundle.ts';
import { makeTestCa } from '../../../support/test-ca.ts';

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true });
});

const [rootA, rootB] = rootCertificates as readonly [string, string];
let caPem: string;
let hash: string;
beforeAll(() => {
  caPem = readFileSync(makeTestCa().path, 'utf8');
  hash = subjectHash(caPem);
});

type Entry = string | { readonly to: string };
type Files = Readonly<Record<string, Entry>>;

interface Prepared extends Trust {
  /** What the sandbox finds behind a target, or nothing. */
  source(target: string): string | undefined;
  readonly targets: readonly string[];
}

async function prepareOn(files: Files, flavour: 'host' | 'image' = 'host'): Promise<Prepared> {
  return prepareAt(makeSystem(files), flavour);
}

function makeSystem(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-system-'));
  made.push(root);
  for (const [path, entry] of Object.entries(files)) {
    mkdirSync(dirname(root + path), { recursive: true });
    if (typeof entry === 'string') writeFileSync(root + path, entry);
    else symlinkSync(entry.to, root + path);
  }
  return root;
}

async function prepareAt(root: string, flavour: 'host' | 'image'): Promise<Prepared> {
  const folder = join(root, 'ours');
  const trust = prepareTrust({ folder, caPem, flavour, inside: '/run/trust', systemRoot: root });
  const targets = trust.mounts.map(({ target }) => target);
  return { ...trust, targets, source: (target) => trust.mounts.find((mount) => mount.target === target)?.source };
}

const certificates = (path: string): readonly Buffer[] => certificatesIn(readFileSync(path, 'latin1'));
const merged = (): readonly Buffer[] => certificatesIn(`${caPem}\n${rootA}\n${rootB}`);
const roots = (): string => `${rootA}\n${rootB}\n`;

const debian = (): Record<string, Entry> => ({
  '/usr/share/ca-certificates/a.crt': rootA,
  '/etc/ssl/certs/a.pem': { to: '/usr/share/ca-certificates/a.crt' },
  '/etc/ssl/certs/0a0a0a0a.0': { to: 'a.pem' },
  '/etc/ssl/certs/ca-certificates.crt': roots(),
  '/etc/ssl/certs/java/cacerts': 'the old store',
  '/etc/ssl/certs/ssl-cert-snakeoil.pem': 'a plain file',
  '/usr/lib/jvm/java-17/lib/security/cacerts': { to: '../../../../../../etc/ssl/certs/java/cacerts' },
});

describe('on Debian', () => {
  test('one folder is bound over /etc/ssl/certs, and every file of interest lies in it', async () => {
    const trust = await prepareOn(debian());
    expect(trust.targets).toEqual(['/run/trust', '/etc/ssl/certs']);
    const certs = trust.source('/etc/ssl/certs')!;
    expect(readdirSync(certs).sort()).toEqual(
      ['0a0a0a0a.0', `${hash}.0`, 'a.pem', 'ca-certificates.crt', 'java', 'ssl-cert-snakeoil.pem'].sort(),
    );
    expect(certificates(join(certs, 'ca-certificates.crt'))).toEqual(merged());
    expect(certificates(join(certs, `${hash}.0`))).toEqual(certificatesIn(caPem));
    expect(readFileSync(join(certs, 'java/cacerts')).readUInt32BE(0)).toBe(0xfeedfeed);
    expect(readFileSync(join(certs, 'ssl-cert-snakeoil.pem'), 'utf8')).toBe('a plain file');
  });

  test('links stay what they are: they lead to the same places in the sandbox', async () => {
    const certs = (await prepareOn(debian())).source('/etc/ssl/certs')!;
    expect(readlinkSync(join(certs, 'a.pem'))).toBe('/usr/share/ca-certificates/a.crt');
    expect(readlinkSync(join(certs, '0a0a0a0a.0'))).toBe('a.pem');
  });

  test('a CA of the system with the same hash keeps its place, and ours takes the next', async () => {
    const trust = await prepareOn({ ...debian(), [`/etc/ssl/certs/${hash}.0`]: rootB });
    const certs = trust.source('/etc/ssl/certs')!;
    expect(certificates(join(certs, `${hash}.0`))).toEqual(certificatesIn(rootB));
    expect(certificates(join(certs, `${hash}.1`))).toEqual(certificatesIn(caPem));
  });
});

describe('on other systems', () => {
  test('Fedora: its folder, the one real bundle and store, and the anchors of p11-kit', async () => {
    const trust = await prepareOn({
      '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem': roots(),
      '/etc/pki/ca-trust/extracted/java/cacerts': 'the old store',
      '/etc/pki/ca-trust/source/anchors/company.pem': rootB,
      '/etc/pki/tls/certs/ca-bundle.crt': { to: '../../ca-trust/extracted/pem/tls-ca-bundle.pem' },
      '/etc/pki/tls/cert.pem': { to: 'certs/ca-bundle.crt' },
      '/etc/pki/java/cacerts': { to: '../ca-trust/extracted/java/cacerts' },
      '/etc/ssl/certs': { to: '../pki/tls/certs' },
    });
    expect(trust.targets).toEqual([
      '/run/trust',
      '/etc/pki/tls/certs',
      '/etc/pki/ca-trust/source/anchors',
      '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
      '/etc/pki/ca-trust/extracted/java/cacerts',
    ]);
    expect(certificates(trust.source('/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem')!)).toEqual(merged());
    expect(readdirSync(trust.source('/etc/pki/ca-trust/source/anchors')!).sort()).toEqual([
      'company.pem',
      'sallyport-sandbox.pem',
    ]);
    expect(trust.variables).not.toHaveProperty('JAVA_TOOL_OPTIONS');
  });

  test('openSUSE: the bundle and the folder where they really are', async () => {
    const trust = await prepareOn({
      '/var/lib/ca-certificates/ca-bundle.pem': roots(),
      '/var/lib/ca-certificates/pem/a.pem': rootA,
      '/etc/ssl/ca-bundle.pem': { to: '../../var/lib/ca-certificates/ca-bundle.pem' },
      '/etc/ssl/certs': { to: '../../var/lib/ca-certificates/pem' },
    });
    expect(trust.targets).toEqual([
      '/run/trust',
      '/var/lib/ca-certificates/pem',
      '/var/lib/ca-certificates/ca-bundle.pem',
    ]);
  });

  test('a machine without certificates gets the variables alone, with the roots of Node', async () => {
    const trust = await prepareOn({ '/etc/hostname': 'bare' });
    expect(trust.targets).toEqual(['/run/trust']);
    expect(certificates(join(trust.source('/run/trust')!, 'ca-bundle.pem'))).toHaveLength(rootCertificates.length + 1);
  });

  test('a JDK with a store of its own has it covered', async () => {
    const trust = await prepareOn({ ...debian(), '/opt/jdk-25/lib/security/cacerts': 'its own' });
    expect(readFileSync(trust.source('/opt/jdk-25/lib/security/cacerts')!).readUInt32BE(0)).toBe(0xfeedfeed);
  });

  test('Java is told by a variable only where no store of a JDK could be covered', async () => {
    const { variables } = await prepareOn({ '/etc/ssl/certs/ca-certificates.crt': roots() });
    expect(variables.JAVA_TOOL_OPTIONS).toContain('-Djavax.net.ssl.trustStore=/run/trust/cacerts.jks');
    expect((await prepareOn(debian())).variables).not.toHaveProperty('JAVA_TOOL_OPTIONS');
  });
});

describe('in an image', () => {
  test('nothing that is bound leads out of itself by a link', async () => {
    // As on Debian, but with links that lead somewhere in the pretend system too.
    const files = { ...debian(), '/etc/ssl/certs/a.pem': { to: '../../../usr/share/ca-certificates/a.crt' } };
    const trust = await prepareOn(files, 'image');
    const certs = trust.source('/etc/ssl/certs')!;
    expect(readdirSync(certs).sort()).toEqual(
      ['0a0a0a0a.0', `${hash}.0`, 'ca-bundle.crt', 'ca-certificates.crt', 'java'].sort(),
    );
    for (const name of readdirSync(certs)) expect(lstatSync(join(certs, name)).isSymbolicLink()).toBe(false);
    expect(certificates(join(certs, '0a0a0a0a.0'))).toEqual(certificatesIn(rootA));
    for (const target of ['/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/ca-bundle.pem', '/etc/ssl/cert.pem'])
      expect(certificates(trust.source(target)!)).toEqual(merged());
  });
});

describe('what is written', () => {
  test('anyone in the sandbox may read it, whatever our umask, and nobody may write it', async () => {
    const system = makeSystem(debian());
    const before = process.umask(0o077);
    const trust = await prepareAt(system, 'host').finally(() => process.umask(before));
    const certs = trust.source('/etc/ssl/certs')!;
    for (const path of [certs, join(certs, 'java'), trust.source('/run/trust')!]) expect(modeOf(path)).toBe('755');
    for (const path of [join(certs, 'ca-certificates.crt'), join(certs, `${hash}.0`), join(certs, 'java/cacerts')])
      expect(modeOf(path)).toBe('444');
    expect(modeOf(join(certs, 'ssl-cert-snakeoil.pem'))).toBe('644');
  });

  test('with a cache the links are the same ones, made once, and a lost cache does no harm', async () => {
    const systemRoot = makeSystem(debian());
    const cache = join(systemRoot, 'cache');
    const certsOf = async (name: string): Promise<string> => {
      const folder = join(systemRoot, name);
      prepareTrust({ folder, caPem, flavour: 'host', inside: '/run/trust', systemRoot, cache });
      return join(folder, 'certs-0');
    };
    const [first, second] = [await certsOf('first'), await certsOf('second')];
    rmSync(cache, { recursive: true });
    const third = await certsOf('third');
    for (const certs of [first, second, third]) {
      expect(readlinkSync(join(certs, 'a.pem'))).toBe('/usr/share/ca-certificates/a.crt');
      expect(readlinkSync(join(certs, '0a0a0a0a.0'))).toBe('a.pem');
    }
    const inode = (certs: string): number => lstatSync(join(certs, 'a.pem')).ino;
    expect(inode(second)).toBe(inode(first));
    expect(inode(third)).not.toBe(inode(first));
  });

  test('where the sandbox sees our folder as it is, it is not bound again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-same-'));
    made.push(folder);
    const trust = prepareTrust({ folder, caPem, flavour: 'host', inside: folder });
    expect(trust.mounts.map(({ target }) => target)).not.toContain(folder);
    expect(certificates(trust.bundle)).toContainEqual(certificatesIn(caPem)[0]);
  });

  test('the variables name files that are there: clients that add to their roots get ours alone', async () => {
    const trust = await prepareOn(debian());
    const file = (name: string): string => trust.variables[name]!.replace('/run/trust', trust.source('/run/trust')!);
    expect(trust.bundle).toBe(trust.variables.SSL_CERT_FILE);
    for (const name of Object.keys(trust.variables)) expect(statSync(file(name)).isFile()).toBe(true);
    for (const name of ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'GIT_SSL_CAINFO'])
      expect(certificates(file(name))).toEqual(merged());
    for (const name of ['NODE_EXTRA_CA_CERTS', 'DENO_CERT'])
      expect(certificates(file(name))).toEqual(certificatesIn(caPem));
  });

  test('a CA that is none, or two, is an error', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-no-ca-'));
    made.push(folder);
    const place = { folder: join(folder, 'ours'), flavour: 'host', inside: '/run/trust', systemRoot: folder } as const;
    expect(() => prepareTrust({ ...place, caPem: 'nothing' })).toThrow('one certificate in PEM, not 0');
    expect(() => prepareTrust({ ...place, caPem: roots() })).toThrow('one certificate in PEM, not 2');
  });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
