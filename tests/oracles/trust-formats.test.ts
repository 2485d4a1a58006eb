// What we write for OpenSSL and for Java, as OpenSSL and Java read it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareTrust, subjectHash } from '../../src/sandbox/trust/prepare-trust.ts';
import { certificatesIn } from '../../src/sandbox/trust/trust-bundle.ts';
import { makeSandboxCa } from '../../src/stages/accept/tls/sandbox-ca.ts';
import { makeTestCa } from '../support/test-ca.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-formats-'));
const trusted = join(folder, 'trust');
const leaf = join(folder, 'leaf.pem');
const foreignLeaf = join(folder, 'foreign.pem');
let keys = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  writeFileSync(leaf, ca.issue(['localhost']).cert);
  writeFileSync(foreignLeaf, makeTestCa().issue(['localhost']).cert);
  const caPem = readFileSync(ca.path, 'utf8');
  prepareTrust({ folder: trusted, caPem, flavour: 'image', inside: '/run/trust' });
});
afterAll(() => rmSync(folder, { recursive: true }));

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function certificateOf(subject: string): string {
  const path = join(folder, `made-${keys++}.pem`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
  openssl('req', '-x509', ...key, '-out', path, '-utf8', '-subj', subject);
  return path;
}

describe('openssl agrees with our hash of a name', () => {
  test.each([
    '/CN=Sallyport sandbox',
    '/CN=Two   Blanks  and CAPITALS',
    '/O=Sallyport/OU=sandboxes/CN=sbx_01J9Z3',
    '/CN=signs: (a) = b @ c.d_e-f',
  ])('%s', (subject) => {
    const path = certificateOf(subject);
    expect(hashOrNothing(path)).toBe(openssl('x509', '-hash', '-noout', '-in', path).trim());
  });

  test.each(['a', 'x_1.y-2', 'z'.repeat(63)])("the CA that the gateway makes for the sandbox '%s'", (id) => {
    const path = join(folder, 'sandbox-ca.pem');
    writeFileSync(path, makeSandboxCa(id, Date.now()).certificatePem);
    expect(hashOrNothing(path)).toBe(openssl('x509', '-hash', '-noout', '-in', path).trim());
  });

  test('a wrong hash never comes out, whatever the name: it is right, or an error', () => {
    const letter = fc.constantFrom(...'aZ09 .-_:+,;="\'<>#@()é\\');
    const value = fc.string({ unit: letter, minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '');
    const check = fc.property(fc.constantFrom('CN', 'O', 'OU', 'L'), value, (type, text) => {
      const path = certificateOf(`/${type}=${text.replace(/[\\/+]/g, '\\$&')}`);
      const ours = hashOrNothing(path);
      if (ours !== null) expect(ours).toBe(openssl('x509', '-hash', '-noout', '-in', path).trim());
    });
    fc.assert(check, { numRuns: 40 });
  });
});

describe('the folder of certificates', () => {
  const verify = (path: string): string => openssl('verify', '-no-CAfile', '-no-CAstore', '-CApath', certs(), path);

  test('openssl finds our CA in it by its hash, and no other', () => {
    expect(verify(leaf)).toContain(': OK');
    expect(() => verify(foreignLeaf)).toThrow('unable to get local issuer certificate');
  });

  test('every root that openssl finds in the folder of this machine is in it still', () => {
    const system = '/etc/ssl/certs';
    const hashed = (existsSync(system) ? readdirSync(system) : []).filter((name) => /^[0-9a-f]{8}\.\d$/.test(name));
    expect(hashed.map((name) => certificatesAt(join(certs(), name)))).toEqual(
      hashed.map((name) => certificatesAt(join(system, name))),
    );
  });
});

describe('the bundle', () => {
  test('openssl verifies by it, and reads every certificate in it', () => {
    const bundle = join(trusted, 'ca-bundle.pem');
    expect(openssl('verify', '-no-CApath', '-no-CAstore', '-CAfile', bundle, leaf)).toContain(': OK');
    const names = openssl('storeutl', '-noout', '-certs', bundle);
    expect(names).toContain(`Total found: ${certificatesIn(readFileSync(bundle, 'latin1')).length}`);
  });
});

const hasKeytool = ((): boolean => {
  try {
    execFileSync('keytool', ['-help'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn(
      'NOT TESTED: keytool is not on this machine, so nothing is known here about what Java makes of our store',
    );
    return false;
  }
})();

describe.runIf(hasKeytool)('the trust store', () => {
  const list = (password: string): string =>
    execFileSync(
      'keytool',
      ['-J-XX:TieredStopAtLevel=1', '-list', '-keystore', join(trusted, 'cacerts.jks'), '-storepass', password],
      {
        encoding: 'utf8',
      },
    );

  test('keytool finds it whole, with every certificate of the bundle and ours as openssl sees it', () => {
    const listed = list('changeit');
    const bundle = readFileSync(join(trusted, 'ca-bundle.pem'), 'latin1');
    expect(listed).toContain(`contains ${certificatesIn(bundle).length} entries`);
    const print = openssl('x509', '-fingerprint', '-sha256', '-noout', '-in', join(trusted, 'sallyport-sandbox.pem'));
    expect(listed).toContain(print.trim().split('=')[1]);
  });

  test('its digest is the one of its password', () => {
    expect(() => list('another')).toThrow();
  });
});

function certificatesAt(path: string): readonly Buffer[] {
  return certificatesIn(readFileSync(path, 'latin1'));
}

function certs(): string {
  return join(trusted, 'certs');
}

/** null: it says that it cannot. */
function hashOrNothing(path: string): string | null {
  try {
    return subjectHash(readFileSync(path, 'utf8'));
  } catch (error) {
    expect(String(error)).toMatch(/is not plain|more than 64/);
    return null;
  }
}
