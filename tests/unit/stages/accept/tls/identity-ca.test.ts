import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCa } from '../../../../../src/stages/accept/tls/ca.ts';
import {
  grantIdentity,
  IdentityCa,
  type IdentityHolder,
  readPublicKey,
} from '../../../../../src/stages/accept/tls/identity-ca.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const start = Date.UTC(2027, 0, 1, 12, 0, 0, 500);
let root: string;
let now: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
  now = start;
});
afterEach(() => rmSync(root, { recursive: true }));

const open = (): Promise<IdentityCa> => IdentityCa.open(join(root, 'identity-ca'), () => now);

const holder = (over: Partial<IdentityHolder> = {}): IdentityHolder => ({
  id: 'one',
  certificateBinding: 'ab'.repeat(16),
  expiresAtMs: start + dayMs,
  expiryIsFinal: false,
  ...over,
});

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;

describe('the identity CA is a CA of its own', () => {
  test('made on the first start, loaded ever after, its key private', async () => {
    const made = await open();
    expect((await open()).certificatePem).toBe(made.certificatePem);
    const directory = join(root, 'identity-ca');
    expect(readdirSync(directory).sort()).toEqual(['ca.key', 'ca.pem']);
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect([mode(directory), mode(join(directory, 'ca.key'))]).toEqual(['700', '600']);
  });

  test('its name tells it from the interception CA, and it lives for ten years', async () => {
    const certificate = new X509Certificate((await open()).certificatePem);
    expect(certificate.subject).toMatch(/^CN=Sallyport identity CA .+ [0-9a-f]{8}$/);
    expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(3650 * dayMs);
  });

  test('neither CA is loaded in place of the other', async () => {
    await open();
    await openCa(join(root, 'ca'), () => now);
    cpSync(join(root, 'ca'), join(root, 'swapped', 'identity-ca'), { recursive: true });
    cpSync(join(root, 'identity-ca'), join(root, 'swapped', 'ca'), { recursive: true });
    await expect(IdentityCa.open(join(root, 'swapped', 'identity-ca'), () => now)).rejects.toThrow(
      /is another CA \(CN=Sallyport CA .*must not be used as Sallyport identity CA: move/,
    );
    await expect(openCa(join(root, 'swapped', 'ca'), () => now)).rejects.toThrow(
      /is another CA \(CN=Sallyport identity CA .*must not be used as Sallyport CA: move/,
    );
  });
});

describe('an identity', () => {
  test('is good for one hour, for clients only, and names one registration', async () => {
    const ca = await open();
    const { certificate, expires_at: until } = ca.issueIdentity(holder(), newKey());
    const read = new X509Certificate(certificate);
    expect(read.subjectAltName).toBe(`URI:sallyport:sandbox/one/${'ab'.repeat(16)}`);
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(read.ca).toBe(false);
    expect(read.checkIssued(new X509Certificate(ca.certificatePem))).toBe(true);
    expect(until).toBe('2027-01-01T13:00:00.000Z');
    expect(new Date(read.validTo).toISOString()).toBe(until);
    expect(new Date(read.validFrom).toISOString()).toBe('2027-01-01T11:55:00.000Z');
  });

  test('never lives longer than a registration whose end is final', async () => {
    const ca = await open();
    const final = holder({ expiresAtMs: start + 10 * 60_000 + 900, expiryIsFinal: true });
    expect(ca.issueIdentity(final, newKey()).expires_at).toBe('2027-01-01T12:10:01.000Z');
    // One that traffic renews does not shorten it: what counts is whether it is registered.
    expect(ca.issueIdentity(holder({ expiresAtMs: start + 60_000 }), newKey()).expires_at).toBe(
      '2027-01-01T13:00:00.000Z',
    );
  });

  test('is granted with a key that fits, and the CA to know the door by', async () => {
    const ca = await open();
    const granted = grantIdentity(ca, holder());
    expect(new X509Certificate(granted.certificate).checkPrivateKey(createPrivateKey(granted.key))).toBe(true);
    expect(granted.ca).toBe(ca.certificatePem);
    expect(grantIdentity(ca, holder()).key).not.toBe(granted.key);
  });

  test.each([
    ['an id with a slash', { id: 'one/two' }],
    ['an id with a comma', { id: 'one, URI:sallyport' }],
    ['an empty id', { id: '' }],
    ['a binding of another form', { certificateBinding: 'x' }],
    ['no binding', { certificateBinding: null }],
  ])('is not made for %s', async (_what, over) => {
    const ca = await open();
    expect(() => ca.issueIdentity(holder(over), newKey())).toThrow(/identity|proof mtls/);
  });
});

describe("the door's certificate", () => {
  test('is for its fixed name and for servers only, and is to be replaced a day before its end', async () => {
    const ca = await open();
    const { cert, renewAtMs } = ca.issueDoorCertificate();
    const read = new X509Certificate(cert);
    expect(read.subjectAltName).toBe('DNS:door.sallyport.internal');
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(Date.parse(read.validTo) - renewAtMs).toBe(dayMs);
    expect(renewAtMs - now).toBeGreaterThan(5 * dayMs);
  });
});

describe('a public key that is sent in', () => {
  const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

  test('is taken when it is P-256, and nothing else is', () => {
    expect(readPublicKey(pem(newKey()))?.asymmetricKeyType).toBe('ec');
    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const privatePem = p256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const twice = `${pem(p256.publicKey)}${pem(p256.publicKey)}`;
    for (const refused of [pem(p384.publicKey), pem(rsa.publicKey), privatePem, twice, '', 'x', `${pem(newKey())}x`]) {
      expect(readPublicKey(refused)).toBeNull();
    }
  });
});
