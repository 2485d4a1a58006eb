import { execFile } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openCa } from '../../../../../src/stages/accept/tls/ca.ts';

const dayMs = 86_400_000;
let root: string;
let directory: string;
let keyPath: string;
let certificatePath: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-ca-'));
  directory = join(root, 'ca');
  keyPath = join(directory, 'ca.key');
  certificatePath = join(directory, 'ca.pem');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true });
});

describe('the first start makes a CA', () => {
  test('with a private key, a readable certificate, and nothing left lying about', async () => {
    const ca = await openCa(directory);
    expect(ca.fresh).toBe(true);
    expect(readdirSync(directory).sort()).toEqual(['ca.key', 'ca.pem']);
    const modes = [directory, keyPath, certificatePath].map((path) => (statSync(path).mode & 0o777).toString(8));
    expect(modes).toEqual(['700', '600', '644']);
    expect(ca.certificatePem).toBe(readFileSync(certificatePath, 'latin1'));
    expect(readFileSync(keyPath, 'latin1')).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  });

  test('whose certificate is one of a CA, for 825 days, with a name that tells this one from others', async () => {
    const now = Date.UTC(2027, 0, 1);
    const certificate = new X509Certificate((await openCa(directory, () => now)).certificatePem);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.subject).toMatch(/^CN=Sallyport CA .+ [0-9a-f]{8}$/);
    expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(825 * dayMs);
    expect(Date.parse(certificate.validFrom)).toBe(now - 3_600_000);
  });

  test('with a positive serial number of more than 64 bits in its shortest form', async () => {
    const { serialNumber } = new X509Certificate((await openCa(directory)).certificatePem);
    expect(serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  test('and later starts load the same one', async () => {
    const first = await openCa(directory);
    const second = await openCa(directory);
    expect(second).toMatchObject({ fresh: false, fingerprint: first.fingerprint, warnings: [] });
  });

  test('and one that was killed between its two files is finished by the next', async () => {
    const made = await openCa(directory);
    renameSync(certificatePath, `${certificatePath}.1.0123456789ab.tmp`);
    const finished = await openCa(directory);
    expect(finished.fingerprint).toBe(made.fingerprint);
    expect(readFileSync(certificatePath, 'latin1')).toBe(made.certificatePem);
  });

  test('and what killed ones have left is cleared away when it is old', async () => {
    await openCa(directory);
    const left = [`${keyPath}.1.0123456789ab.tmp`, `${certificatePath}.1.0123456789ab.tmp`];
    for (const path of left) {
      copyFileSync(keyPath, path);
      utimesSync(path, 1, 1);
    }
    writeFileSync(`${keyPath}.2.0123456789ab.tmp`, 'of one that starts at this moment');
    await openCa(directory);
    expect(readdirSync(directory).sort()).toEqual(['ca.key', 'ca.key.2.0123456789ab.tmp', 'ca.pem']);
  });

  test('once, also when several gateways start at the same moment', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => openCa(directory)));
    expect(new Set(all.map((ca) => ca.fingerprint)).size).toBe(1);
    expect(all.filter((ca) => ca.fresh)).toHaveLength(1);
    expect(readdirSync(directory).sort()).toEqual(['ca.key', 'ca.pem']);
  });
});

describe('a CA that is not as it should be is an error with the fix in it', () => {
  beforeEach(async () => {
    await openCa(directory);
  });

  test.each([
    ['key', 0o640, 'chmod 600'],
    ['key', 0o604, 'chmod 600'],
    ['pem', 0o664, 'chmod 644'],
    ['pem', 0o646, 'chmod 644'],
  ])('ca.%s with mode %o', async (which, mode, fix) => {
    const path = join(directory, `ca.${which}`);
    chmodSync(path, mode);
    await expect(openCa(directory)).rejects.toThrow(`run  ${fix} ${path}`);
  });

  test('a directory that others can write in', async () => {
    chmodSync(directory, 0o770);
    await expect(openCa(directory)).rejects.toThrow(`chmod 700 ${directory}`);
  });

  test('a key and a certificate that are not a pair', async () => {
    const other = join(root, 'other');
    await openCa(other);
    copyFileSync(join(other, 'ca.pem'), certificatePath);
    await expect(openCa(directory)).rejects.toThrow(`${certificatePath} does not belong to ${keyPath}`);
  });

  test('a certificate under another name that is of another key, or half of one', async () => {
    const other = join(root, 'other');
    await openCa(other);
    unlinkSync(certificatePath);
    copyFileSync(join(other, 'ca.pem'), `${certificatePath}.1.0123456789ab.tmp`);
    writeFileSync(`${certificatePath}.2.0123456789ab.tmp`, '-----BEGIN CERTIFICATE-----\nMIIB', { mode: 0o644 });
    await expect(openCa(directory)).rejects.toThrow(`${certificatePath} is missing`);
  });

  test.each(['key', 'pem'])('a missing ca.%s, which is not made anew', async (which) => {
    const path = join(directory, `ca.${which}`);
    unlinkSync(path);
    await expect(openCa(directory)).rejects.toThrow(`${path} is missing`);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test.each(['key', 'pem'])('a ca.%s that cannot be parsed, whose content is not repeated', async (which) => {
    const path = join(directory, `ca.${which}`);
    writeFileSync(path, 'something private');
    const failed = await openCa(directory).catch((error: unknown) => String(error));
    expect(failed).toContain(`${path} cannot be parsed`);
    expect(failed).not.toContain('private');
  });

  test('a key of another kind', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(keyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(openCa(directory)).rejects.toThrow('not an ECDSA P-256 key');
  });

  test('a certificate that is no CA', async () => {
    const subject = ['-subj', '/CN=x', '-addext', 'basicConstraints=critical,CA:FALSE', '-days', '30'];
    await promisify(execFile)('openssl', ['req', '-x509', '-key', keyPath, '-out', certificatePath, ...subject]);
    await expect(openCa(directory)).rejects.toThrow('not a CA certificate');
  });

  test.each(['key', 'pem'])('a ca.%s that is a symbolic link', async (which) => {
    const path = join(directory, `ca.${which}`);
    renameSync(path, join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), path);
    await expect(openCa(directory)).rejects.toThrow(`${path} is a symbolic link`);
  });

  test('a directory that is a symbolic link', async () => {
    const alias = join(root, 'alias');
    symlinkSync(directory, alias);
    await expect(openCa(alias)).rejects.toThrow('is not a directory');
  });

  test('files that belong to another user', async () => {
    // Only root can give a file away; anyone else takes the place of another user instead.
    if (process.geteuid?.() === 0) chownSync(keyPath, 65_534, 65_534);
    else vi.spyOn(process, 'geteuid').mockReturnValue(65_533);
    await expect(openCa(directory)).rejects.toThrow(/belongs to another user \(uid \d+\): run {2}chown \d+ /);
  });

  test('an expired one, and a clock that is behind', async () => {
    const { notAfter, notBefore } = await openCa(directory);
    await expect(openCa(directory, () => notAfter.getTime())).rejects.toThrow('expired on');
    await expect(openCa(directory, () => notBefore.getTime() - 1)).rejects.toThrow('check the clock');
  });

  test('one that expires within 30 days works, with a warning', async () => {
    const { notAfter } = await openCa(directory);
    const at = (days: number) => openCa(directory, () => notAfter.getTime() - days * dayMs);
    expect((await at(31)).warnings).toEqual([]);
    expect((await at(29)).warnings).toEqual([expect.stringContaining('expires on')]);
  });
});
