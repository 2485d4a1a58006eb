// Identity certificates as OpenSSL reads them: a client's is for clients, the door's for that one server, and the CA can
// vouch for nothing else.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IdentityCa } from '../../src/stages/accept/tls/identity-ca.ts';
import { forgeCertificate } from '../support/forged-certificate.ts';

let directory: string;
let ca: IdentityCa;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
  ca = await IdentityCa.open(directory);
});
afterAll(() => rmSync(directory, { recursive: true }));

async function openssl(...args: string[]): Promise<string> {
  return (await promisify(execFile)('openssl', args)).stdout;
}

function file(pem: string): string {
  const path = join(directory, 'shown.pem');
  writeFileSync(path, pem);
  return path;
}

function verify(purpose: 'sslclient' | 'sslserver', pem: string, ...more: string[]): Promise<string> {
  const chain = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', ca.certificatePath];
  return openssl(...chain, ...more, file(pem));
}

function identity(id: string): string {
  const holder = { id, certificateBinding: '0123456789abcdef'.repeat(2), expiresAtMs: 0, expiryIsFinal: false };
  return ca.issueIdentity(holder, generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey).certificate;
}

describe('openssl agrees with what the identity CA signs', () => {
  test.each(['one', 'sbx_0123456789abcdef', 'team.example.com', 'a'.repeat(63)])(
    'the identity of %s verifies for clients and not for servers',
    async (id) => {
      expect(await verify('sslclient', identity(id))).toContain(': OK');
      await expect(verify('sslserver', identity(id))).rejects.toThrow(
        /unsuitable certificate purpose|unsupported certificate purpose/,
      );
    },
  );

  test('the certificate of the door verifies for servers by its name, and not for clients', async () => {
    const { cert } = ca.issueDoorCertificate();
    expect(await verify('sslserver', cert, '-verify_hostname', 'door.sallyport.internal')).toContain(': OK');
    await expect(verify('sslserver', cert, '-verify_hostname', 'other.example')).rejects.toThrow('hostname mismatch');
    await expect(verify('sslclient', cert)).rejects.toThrow(/certificate purpose/);
  });

  test.each([
    ['DNS:api.example.com', 'permitted subtree violation'],
    ['DNS:sallyport.internal', 'permitted subtree violation'],
    ['IP:192.0.2.1', 'excluded subtree violation'],
    ['IP:2001:db8::1', 'excluded subtree violation'],
  ])('whatever else is signed with its key for a server is refused: %s', async (san, why) => {
    const extensions = ['extendedKeyUsage=serverAuth', `subjectAltName=${san}`];
    const forged = forgeCertificate({ signer: directory, extensions });
    await expect(verify('sslserver', forged.certificate)).rejects.toThrow(why);
  });

  test('what the certificates say', async () => {
    const client = await openssl('x509', '-noout', '-text', '-in', file(identity('one')));
    for (const fact of [
      /Signature Algorithm: ecdsa-with-SHA256/,
      /Subject: CN = Sallyport sandbox\n/,
      /NIST CURVE: P-256/,
      /Basic Constraints: critical\s+CA:FALSE/,
      /Key Usage: critical\s+Digital Signature\n/,
      /Extended Key Usage:\s+TLS Web Client Authentication\n/,
      /Subject Alternative Name:\s+URI:sallyport:sandbox\/one\/(?:0123456789abcdef){2}\n/,
    ]) {
      expect(client).toMatch(fact);
    }
    const own = await openssl('x509', '-noout', '-text', '-in', ca.certificatePath);
    expect(own).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(own).toMatch(
      /Name Constraints: critical\s+Permitted:\s+DNS:door\.sallyport\.internal\s+Excluded:\s+IP:0\.0\.0\.0\/0\.0\.0\.0\s+IP:0:0:0:0:0:0:0:0\/0:0:0:0:0:0:0:0\s/,
    );
  });
});
