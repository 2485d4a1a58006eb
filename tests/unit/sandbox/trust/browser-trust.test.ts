// What browsers are given: a policy beside those that the system has, never written through a link of the system.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { prepareTrust, type Trust } from '../../../../src/sandbox/trust/prepare-trust.ts';
import { makeTestCa } from '../../../support/test-ca.ts';

const root = mkdtempSync(join(tmpdir(), 'sallyport-browsers-'));
afterAll(() => rmSync(root, { recursive: true }));

let systems = 0;
function prepare(
  files: Readonly<Record<string, string | { readonly to: string }>>,
  flavour: 'host' | 'image' = 'host',
): Trust & { readonly system: string; at(target: string): string } {
  const system = join(root, `system-${++systems}`);
  for (const [path, entry] of Object.entries(files)) {
    mkdirSync(dirname(system + path), { recursive: true });
    if (typeof entry === 'string') writeFileSync(system + path, entry);
    else symlinkSync(entry.to, system + path);
  }
  const caPem = readFileSync(makeTestCa().path, 'utf8');
  const folder = join(root, `ours-${systems}`);
  const trust = prepareTrust({ folder, caPem, flavour, inside: '/run/trust', systemRoot: system });
  const at = (target: string): string => {
    const mount = trust.mounts.find(({ target: place }) => target === place || target.startsWith(`${place}/`));
    return mount === undefined
      ? 'nothing is bound'
      : readFileSync(mount.source + target.slice(mount.target.length), 'utf8');
  };
  return { ...trust, system, at };
}

test('policies of the system stay, with ours beside them', () => {
  const mine = JSON.stringify({ policies: { DisableTelemetry: true, Certificates: { Install: ['/etc/corp.pem'] } } });
  const trust = prepare({
    '/etc/chromium/policies/managed/corp.json': '{"HomepageLocation":"https://corp.example"}',
    '/etc/opt/chrome_for_testing/x': '',
    '/usr/lib/firefox/distribution/policies.json': mine,
  });
  expect(trust.at('/etc/chromium/policies/managed/corp.json')).toContain('corp.example');
  for (const folder of ['/etc/chromium', '/etc/opt/chrome_for_testing']) {
    const policy = JSON.parse(trust.at(`${folder}/policies/managed/sallyport.json`));
    expect(policy.CACertificates).toHaveLength(1);
    // Nothing in it makes a browser verify less.
    expect(Object.keys(policy).sort()).toEqual(['CACertificates', 'DnsOverHttpsMode', 'EncryptedClientHelloEnabled']);
  }
  const { policies } = JSON.parse(trust.at('/usr/lib/firefox/distribution/policies.json'));
  expect(policies.DisableTelemetry).toBe(true);
  expect(policies.Certificates.Install).toEqual(['/etc/corp.pem', '/run/trust/sallyport-sandbox.pem']);
});

test.each(['policies', 'policies/managed', 'policies/managed/sallyport.json'])(
  'a link of the system at %s leads nothing of ours to where it points',
  (place) => {
    const elsewhere = join(root, `elsewhere-${systems}`);
    mkdirSync(elsewhere);
    const trust = prepare({ [`/etc/chromium/${place}`]: { to: elsewhere } });
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(readdirSync(`${trust.system}/etc/chromium`)).toEqual(['policies']);
  },
);

test('policies that are a link in Firefox are replaced in our copy alone', () => {
  const target = join(root, 'policies-of-the-host.json');
  writeFileSync(target, '{"policies":{}}');
  const trust = prepare({ '/usr/lib/firefox/distribution/policies.json': { to: target } });
  expect(readFileSync(target, 'utf8')).toBe('{"policies":{}}');
  expect(trust.at('/usr/lib/firefox/distribution/policies.json')).toContain('sallyport-sandbox.pem');
});

test('an image gets every place, and the database is for its owner alone', () => {
  const trust = prepare({}, 'image');
  expect(trust.at('/etc/opt/chrome/policies/managed/sallyport.json')).toContain('CACertificates');
  expect(trust.at('/etc/firefox/policies/policies.json')).toContain('/run/trust/sallyport-sandbox.pem');
  expect(readdirSync(trust.database)).toEqual(['cert9.db']);
  expect(statSync(join(trust.database, 'cert9.db')).mode & 0o777).toBe(0o600);
});
