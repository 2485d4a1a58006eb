// Our certificates as OpenSSL reads them: the chain verifies for the name it was made for and for no other, and the
// facts in the text are the ones we mean.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCa } from '../../src/stages/accept/tls/ca.ts';
import { LeafMinter } from '../../src/stages/accept/tls/leaf.ts';

let directory: string;
let caPath: string;
let minter: LeafMinter;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-openssl-'));
  const ca = await openCa(directory);
  caPath = ca.certificatePath;
  minter = new LeafMinter(ca);
});
afterAll(() => rmSync(directory, { recursive: true }));

async function openssl(...args: string[]): Promise<string> {
  return (await promisify(execFile)('openssl', args)).stdout;
}

function leafFile(host: string): string {
  const path = join(directory, 'leaf.pem');
  writeFileSync(path, minter.mintLeaf(host));
  return path;
}

const label63 = 'a'.repeat(63);
const hosts = [
  'api.example.com',
  'localhost',
  'with_under_scores.example.com',
  '_dmarc.example.com',
  'xn--bcher-kva.example',
  'a--b.example',
  `${'b'.repeat(52)}.example.com`,
  `${'b'.repeat(53)}.example.com`,
  `${label63}.${label63}.${label63}.${'c'.repeat(61)}`,
];

describe('openssl agrees with what we mint', () => {
  test.each(hosts)('%s verifies for its own name and for no other', async (host) => {
    const path = leafFile(host);
    const verify = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', caPath];
    expect(await openssl(...verify, '-verify_hostname', host, path)).toContain(': OK');
    await expect(openssl(...verify, '-verify_hostname', 'other.example.org', path)).rejects.toThrow(
      'hostname mismatch',
    );
  });

  test('the longest name is 253 characters long', () => {
    expect(Math.max(...hosts.map((host) => host.length))).toBe(253);
  });

  test('a leaf says what it is for', async () => {
    const text = await openssl('x509', '-noout', '-text', '-in', leafFile('api.example.com'));
    for (const fact of [
      /Version: 3/,
      /Signature Algorithm: ecdsa-with-SHA256/,
      /Subject: CN = api\.example\.com/,
      /NIST CURVE: P-256/,
      /Basic Constraints: critical\s+CA:FALSE/,
      /Key Usage: critical\s+Digital Signature\n/,
      /Extended Key Usage:\s+TLS Web Server Authentication\n/,
      /Subject Alternative Name:\s+DNS:api\.example\.com\n/,
      /Subject Key Identifier:/,
      /Authority Key Identifier:/,
    ]) {
      expect(text).toMatch(fact);
    }
    expect(text).not.toMatch(/Negative/i);
  });

  test('a name that is too long for a common name stands in a critical alternative name alone', async () => {
    const text = await openssl('x509', '-noout', '-text', '-in', leafFile(hosts.at(-1)!));
    expect(text).toMatch(/Subject: *\n/);
    expect(text).toMatch(/Subject Alternative Name: critical/);
  });

  test('the CA certificate may sign leaves and nothing that signs in turn', async () => {
    const text = await openssl('x509', '-noout', '-text', '-in', caPath);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/);
    expect(text).toMatch(/Subject Key Identifier:/);
    expect(await openssl('verify', '-x509_strict', '-CAfile', caPath, caPath)).toContain(': OK');
  });
});
