import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { publishedHome, publishTrust } from '../../../../src/gateway/sandboxes/published-trust.ts';
import type { CredentialSpec, SourceSpec } from '../../../../src/policy/compiled.ts';
import { makeTestCa } from '../../../support/test-ca.ts';

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

describe('logins for sandboxes in containers', () => {
  const login = { injection: null, listed: [], tokenEndpoints: [] };
  const specs = (sources: Readonly<Record<string, SourceSpec>>): ReadonlyMap<string, CredentialSpec> =>
    new Map(
      Object.entries(sources).map(([name, source]) => [name, { name, login, source } as unknown as CredentialSpec]),
    );
  const codex: SourceSpec = { kind: 'login', agent: 'codex', path: null, provider: null };

  test('are the files of the agents whose login is configured, with placeholders, for everybody to read', async () => {
    const place = join(folder, 'logins');
    const home = publishedHome(specs({ chatgpt: codex, anthropic: { kind: 'file', path: '/run/secrets/anthropic' } }));
    await publishTrust({ folder: place, caPem, gitHosts: [], home });
    const file = join(place, 'home', '.codex', 'auth.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ auth_mode: 'chatgpt', OPENAI_API_KEY: null });
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readFileSync(file, 'utf8')).toContain('sallyport-placeholder-for-chatgpt');
    expect(readFileSync(join(place, 'home', '.codex', 'config.toml'), 'utf8')).toContain('[projects."/workspace"]');
    expect(readdirSync(join(place, 'home'))).not.toContain('.claude');
  });

  test('are gone when they are no longer configured', async () => {
    const place = join(folder, 'logins');
    const gemini: SourceSpec = { kind: 'login', agent: 'gemini', path: null, provider: null };
    await publishTrust({ folder: place, caPem, gitHosts: [], home: publishedHome(specs({ gemini })) });
    expect(readdirSync(join(place, 'home', '.gemini'))).toContain('oauth_creds.json');
    expect(readdirSync(join(place, 'home', '.codex'))).toEqual(['config.toml']);
    await publishTrust({ folder: place, caPem, gitHosts: [], home: publishedHome(specs({})) });
    expect(readdirSync(place)).not.toContain('home');
  });

  test('lie beside what else is in the folder, which nobody touches', async () => {
    const place = join(folder, 'in-use');
    const thesis = join(place, 'home', 'ada', 'thesis.txt');
    mkdirSync(dirname(thesis), { recursive: true });
    writeFileSync(thesis, 'years of work');
    for (const sources of [{}, { chatgpt: codex }, {}]) {
      await publishTrust({ folder: place, caPem, gitHosts: [], home: publishedHome(specs(sources)) });
      expect(readFileSync(thesis, 'utf8')).toBe('years of work');
    }
    expect(readdirSync(join(place, 'home'))).toEqual(['ada']);
  });

  test('are never put in place of the real ones', async () => {
    vi.stubEnv('HOME', join(folder, 'own', 'home'));
    try {
      await expect(publish(join(folder, 'own'))).rejects.toThrow(
        'is your own home: name another folder with --publish',
      );
    } finally {
      vi.unstubAllEnvs();
    }
    expect(readdirSync(folder)).not.toContain('own');
  });

  test('are none where no login is configured: keys and what waits for a value are no logins', () => {
    expect(publishedHome(specs({ chatgpt: { kind: 'memory' }, anthropic: { kind: 'file', path: '/k' } }))).toEqual([]);
  });
});
