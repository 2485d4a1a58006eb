import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { publishTrust } from '../../../src/published-trust.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-publish-'));
const caPem = readFileSync(makeTestCa().path, 'utf8');
const publish = (place: string, pem = caPem): Promise<void> =>
  publishTrust({ folder: place, caPem: pem, gitHosts: ['github.com'] });

afterAll(() => rmSync(folder, { recursive: true }));

describe('what the gateway publishes for its sandboxes', () => {
  test('is the certificate, a bundle with it and all roots, and a tame git; for everybody to read, nobody to write', async () => {
    const place = join(folder, 'made');
    await publish(place);
    expect(readFileSync(join(place, 'ca.pem'), 'utf8')).toBe(caPem);
    const bundle = readFileSync(join(place, 'bundle.pem'), 'utf8');
    expect(bundle.startsWith(caPem)).toBe(true);
    expect(bundle.match(/BEGIN CERTIFICATE/g)!.length).toBeGreaterThanOrEqual(rootCertificates.length + 1);
    expect(bundle).not.toContain('PRIVATE KEY');
    for (const name of ['ca.pem', 'bundle.pem', 'git/gitconfig', 'git/tame.gitconfig', 'git/hooks/pre-push']) {
      expect(statSync(join(place, name)).mode & 0o466, name).toBe(0o444);
    }
    const settings = (key: string): string =>
      execFileSync('git', ['config', '--file', join(place, 'git', 'tame.gitconfig'), key], { encoding: 'utf8' }).trim();
    expect(settings('core.hooksPath')).toBe('/etc/sallyport/git/hooks');
    expect(settings('protocol.allow')).toBe('never');
    expect(readFileSync(join(place, 'git', 'rewrite-urls.gitconfig'), 'utf8')).toContain('git@github.com:');
  });

  test('takes the place of what was there, and leaves nothing half-way', async () => {
    const place = join(folder, 'made');
    const other = readFileSync(makeTestCa().path, 'utf8');
    await publish(place, other);
    expect(readFileSync(join(place, 'ca.pem'), 'utf8')).toBe(other);
    expect(readFileSync(join(place, 'bundle.pem'), 'utf8').includes(caPem)).toBe(false);
    expect(readdirSync(place).sort()).toEqual(['bundle.pem', 'ca.pem', 'git']);
  });

  test('a place that cannot be written to is named, and so is the flag', async () => {
    const file = join(folder, 'made', 'ca.pem');
    await expect(publish(`${file}/below`)).rejects.toThrow(
      `cannot be written to ${file}/below (ENOTDIR). Name a folder with --publish`,
    );
  });
});
