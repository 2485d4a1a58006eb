// The roots of a system, whatever its bundle looks like.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificatesIn, readSystemRoots, toPem } from '../../../../src/sandbox/trust/trust-bundle.ts';

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true });
});

/** A system with these files. */
function systemOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-system-'));
  made.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(root + path), { recursive: true });
    writeFileSync(root + path, text);
  }
  return root;
}

const [first, second, third] = rootCertificates as readonly [string, string, string];
let ders: readonly Buffer[];
beforeAll(() => {
  ders = certificatesIn([first, second].join('\n'));
});

describe('a PEM text of any kind', () => {
  test('line ends of Unix, Windows and old Macs read alike, with or without the last one', () => {
    const text = `${first}\n${second}`;
    expect(ders).toHaveLength(2);
    for (const variant of [text.replaceAll('\n', '\r\n'), text.replaceAll('\n', '\r'), `${text}\n\n`, first + second])
      expect(certificatesIn(variant)).toEqual(ders);
  });

  test('names, comments, bytes of another encoding and keys beside the certificates are left out', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
    const text = `# A root - caf\xe9\n=====\n${first}\n${key}subject=x\n${second}`;
    expect(certificatesIn(text)).toEqual(ders);
  });

  test('what comes out has lines of 64 characters and the last line end', () => {
    const pem = toPem(ders);
    expect(certificatesIn(pem)).toEqual(ders);
    expect(pem).toMatch(
      /^(-----BEGIN CERTIFICATE-----\n([\w+/]{64}\n)*[\w+/]{1,64}={0,2}\n-----END CERTIFICATE-----\n){2}$/,
    );
  });

  test('a certificate that stands twice comes out once', () => {
    expect(certificatesIn([first, second, first].join('\n'))).toEqual(ders);
  });

  test('a block that is not a whole certificate is left out, and those around it stay', () => {
    const cut = `-----BEGIN CERTIFICATE-----\n${first.split('\n').slice(1, 5).join('\n')}\n-----END CERTIFICATE-----`;
    const empty = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----';
    const trusted = first.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE');
    expect(certificatesIn([first, cut, empty, trusted, second].join('\n'))).toEqual(ders);
  });
});

describe('the roots of a system', () => {
  test('come from the bundle that its distribution keeps', () => {
    const der = certificatesIn(third);
    for (const path of [
      '/etc/ssl/certs/ca-certificates.crt',
      '/etc/pki/tls/certs/ca-bundle.crt',
      '/etc/ssl/ca-bundle.pem',
    ])
      expect(readSystemRoots(systemOf({ [path]: third }))).toEqual(der);
  });

  test('come from the next one where a bundle is empty', () => {
    const root = systemOf({ '/etc/ssl/certs/ca-certificates.crt': '', '/etc/ssl/cert.pem': third });
    expect(readSystemRoots(root)).toEqual(certificatesIn(third));
  });

  test('are those of Node where the system has none', () => {
    expect(readSystemRoots(systemOf({}))).toHaveLength(rootCertificates.length);
  });
});
