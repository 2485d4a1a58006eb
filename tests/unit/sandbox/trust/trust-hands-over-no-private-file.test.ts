// The folder of certificates is copied by whoever starts the sandbox, perhaps root. What lies there and is not for
// everybody, such as a key that an administrator left, must not become readable in the sandbox by being copied.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareTrust } from '../../../../src/sandbox/trust/prepare-trust.ts';
import { makeTestCa } from '../../../support/test-ca.ts';

const root = mkdtempSync(join(tmpdir(), 'sallyport-private-'));
const certs = join(root, 'etc/ssl/certs');
const secret = 'KEY-OF-THE-WEB-SERVER';
let caPem: string;

beforeAll(() => {
  mkdirSync(join(certs, 'private'), { recursive: true });
  writeFileSync(join(certs, 'ca-certificates.crt'), '');
  writeFileSync(join(certs, 'server.key'), secret, { mode: 0o640 });
  writeFileSync(join(certs, 'private/other.key'), secret);
  chmodSync(join(certs, 'private'), 0o710);
  // A private file under a name that OpenSSL looks for.
  writeFileSync(join(certs, '0a0a0a0a.0'), secret, { mode: 0o600 });
  caPem = readFileSync(makeTestCa().path, 'utf8');
});
afterAll(() => rmSync(root, { recursive: true }));

test.each(['host', 'image'] as const)('nothing of a private file reaches the sandbox (%s)', async (flavour) => {
  const folder = join(root, flavour);
  await prepareTrust({ folder, caPem, flavour, inside: '/run/trust', systemRoot: root });
  expect(filesBelow(folder).filter((path) => readFileSync(path, 'latin1').includes(secret))).toEqual([]);
});

test('an empty file or folder stands in its place, so that a mask over it finds something to cover', () => {
  const copy = join(root, 'host/certs-0');
  expect(statSync(join(copy, 'server.key')).size).toBe(0);
  expect(statSync(join(copy, 'private')).isDirectory()).toBe(true);
});

test('a folder that is not for everybody is not copied at all; the bundle in it is covered by itself', async () => {
  chmodSync(certs, 0o750);
  const folder = join(root, 'closed');
  const { mounts } = await prepareTrust({ folder, caPem, flavour: 'host', inside: '/run/trust', systemRoot: root });
  chmodSync(certs, 0o755);
  expect(mounts.map(({ target }) => target)).toEqual(['/run/trust', '/etc/ssl/certs/ca-certificates.crt']);
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
