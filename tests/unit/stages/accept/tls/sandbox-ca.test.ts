import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { LeafMinter } from '../../../../../src/stages/accept/tls/leaf.ts';
import { makeSandboxCa } from '../../../../../src/stages/accept/tls/sandbox-ca.ts';

const dayMs = 86_400_000;
const ca = makeSandboxCa('sbx_one', Date.now());
const root = new X509Certificate(ca.certificatePem);

describe('a CA for one sandbox', () => {
  test('says whose it is, and outlives any sandbox that is renewed by its traffic for a year', () => {
    expect(root.subject).toBe('CN=Sallyport CA for sandbox sbx_one');
    expect(root.ca).toBe(true);
    expect(root.fingerprint256).toBe(ca.fingerprint);
    expect(Date.parse(root.validTo) - Date.now()).toBeGreaterThan(365 * dayMs);
    expect(Date.parse(root.validFrom)).toBeLessThan(Date.now());
  });

  test('has a key of its own, and a leaf of one is none of the other', () => {
    const other = makeSandboxCa('sbx_two', Date.now());
    const leaf = new X509Certificate(new LeafMinter(ca).mintLeaf('api.example.com'));
    expect(leaf.verify(root.publicKey)).toBe(true);
    expect(leaf.verify(new X509Certificate(other.certificatePem).publicKey)).toBe(false);
    expect(leaf.checkIssued(new X509Certificate(other.certificatePem))).toBe(false);
  });

  test('a long id is cut where a common name must end', () => {
    const long = new X509Certificate(makeSandboxCa('x'.repeat(100), Date.now()).certificatePem);
    expect(long.subject.length).toBe('CN='.length + 64);
  });

  test('signs for addresses too, so that a refusal can be read', () => {
    const minter = new LeafMinter(ca);
    const four = new X509Certificate(minter.mintLeaf('203.0.113.5'));
    expect(four.subjectAltName).toBe('IP Address:203.0.113.5');
    expect(four.checkIP('203.0.113.5')).toBe('203.0.113.5');
    const six = new X509Certificate(minter.mintLeaf('2001:db8::5'));
    expect(six.subjectAltName).toBe('IP Address:2001:DB8:0:0:0:0:0:5');
    expect(six.checkIP('2001:db8::5')).toBe('2001:db8::5');
  });

  test('keeps few contexts ready, however many names are asked for', () => {
    const minter = new LeafMinter(ca);
    for (let i = 0; i < 40; i++) minter.contextFor(`h${i}.example.com`);
    expect(minter.size).toBe(24);
  });
});
