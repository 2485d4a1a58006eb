import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ca, openCa } from '../../../../../src/stages/accept/tls/ca.ts';
import { LeafMinter } from '../../../../../src/stages/accept/tls/leaf.ts';

const dayMs = 86_400_000;
let directory: string;
let ca: Ca;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-leaf-'));
  ca = await openCa(directory);
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('a leaf is minted for the name a client asks for', () => {
  test('signed by the CA, for that name alone, for at most seven days and never longer than the CA', () => {
    const leaf = new X509Certificate(new LeafMinter(ca).mintLeaf('api.example.com'));
    const root = new X509Certificate(ca.certificatePem);
    expect(leaf.verify(root.publicKey)).toBe(true);
    expect(leaf.checkIssued(root)).toBe(true);
    expect(leaf.subjectAltName).toBe('DNS:api.example.com');
    expect(leaf.ca).toBe(false);
    expect(Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)).toBeLessThanOrEqual(7 * dayMs);

    const nearTheEnd = ca.notAfter.getTime() - dayMs;
    const last = new X509Certificate(new LeafMinter(ca, () => nearTheEnd).mintLeaf('api.example.com'));
    expect(new Date(last.validTo)).toEqual(ca.notAfter);
  });

  test('and every certificate has a serial number of its own', () => {
    const minter = new LeafMinter(ca);
    const serials = Array.from({ length: 50 }, () => new X509Certificate(minter.mintLeaf('a.example')).serialNumber);
    expect(new Set(serials).size).toBe(50);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  test('an expired CA mints nothing', () => {
    const minter = new LeafMinter(ca, () => ca.notAfter.getTime());
    expect(() => minter.contextFor('api.example.com')).toThrow('has expired');
  });
});

describe('contexts are kept', () => {
  test('one per name, until a day before the certificate ends', () => {
    let now = Date.now();
    const minter = new LeafMinter(ca, () => now);
    const first = minter.contextFor('api.example.com');
    expect(minter.contextFor('api.example.com')).toBe(first);
    expect(minter.contextFor('other.example.com')).not.toBe(first);
    now += 5.5 * dayMs;
    expect(minter.contextFor('api.example.com')).toBe(first);
    now += 0.5 * dayMs;
    const second = minter.contextFor('api.example.com');
    expect(second).not.toBe(first);
    expect(minter.contextFor('api.example.com')).toBe(second);
  });

  test('but not without bound', () => {
    const minter = new LeafMinter(ca);
    const first = minter.contextFor('h0.example');
    for (let i = 1; i <= 1000; i++) minter.contextFor(`h${i}.example`);
    expect(minter.size).toBe(1000);
    expect(minter.contextFor('h0.example')).not.toBe(first);
  });
});

/** How a door may use the minter: by name during the handshake, or with a context chosen from the peeked ClientHello. */
const doors: [string, (minter: LeafMinter, name: string) => Server][] = [
  [
    'by SNICallback',
    (minter) =>
      tls.createServer(
        { ticketKeys: minter.ticketKeys, SNICallback: (host, done) => done(null, minter.contextFor(host)) },
        (socket) => socket.end('hello'),
      ),
  ],
  [
    'by a context of its own',
    (minter, name) =>
      createServer((raw) => {
        new tls.TLSSocket(raw, { isServer: true, secureContext: minter.contextFor(name) }).end('hello');
      }),
  ],
];

interface Greeting {
  readonly reused: boolean;
  readonly session: Buffer;
  readonly subject: string;
  readonly version: string | null;
}

async function greet(
  server: Server,
  servername: string,
  maxVersion: tls.SecureVersion,
  session?: Buffer,
): Promise<Greeting> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const known = session === undefined ? {} : { session };
      const client = tls.connect({ host: '127.0.0.1', port, servername, ca: ca.certificatePem, maxVersion, ...known });
      let ticket: Buffer | undefined;
      client.on('session', (got) => {
        ticket = got;
      });
      client.on('error', reject);
      client.on('end', () => {
        const subject = client.getPeerCertificate().subjectaltname ?? '';
        const kept = ticket ?? client.getSession();
        if (kept === undefined) reject(new Error('no session'));
        else resolve({ reused: client.isSessionReused(), session: kept, subject, version: client.getProtocol() });
        client.destroy();
      });
      client.resume();
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

describe.each(doors)('a client that trusts the CA, served %s', (_, open) => {
  test.each(['TLSv1.3', 'TLSv1.2'] as const)('connects over %s and resumes, also after a renewal', async (version) => {
    // Six days ago, so that what is minted now is a renewal that the client's clock accepts.
    let now = Date.now() - 6 * dayMs;
    const name = 'api.example.com';
    const minter = new LeafMinter(ca, () => now);
    const first = await greet(open(minter, name), name, version);
    expect(first).toMatchObject({ reused: false, subject: `DNS:${name}`, version });
    const before = minter.contextFor(name);
    now += 6 * dayMs;
    expect(minter.contextFor(name)).not.toBe(before);
    const second = await greet(open(minter, name), name, version, first.session);
    expect(second.reused).toBe(true);
  });
});
