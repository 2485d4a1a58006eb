// A release is made from a tag that agrees with everything, in a small repository with checks that pass at once.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root } from './pages.ts';

const changelog = '# Changes\n\n## Unreleased\n\n## 1.2.3 - 2026-01-31\n\n- It opens.\n';
let folder = '';

const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // No daemon is asked, whatever this machine has.
  DOCKER_HOST: 'unix:///nonexistent/docker.sock',
  npm_config_update_notifier: 'false',
};

function git(...words: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], { cwd: folder, env });
}

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text, { mode: 0o755 });
}

function release(...words: string[]) {
  const script = join(root, 'scripts/release.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...words], {
    cwd: folder,
    // Where it is no change of the tree.
    env: { ...env, npm_config_cache: join(folder, '.git', 'npm') },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-release-'));
  const own = { name: 'door', version: '1.2.3', license: 'Apache-2.0' };
  const repository = { type: 'git', url: 'git+https://forge.example/door.git' };
  write('package.json', JSON.stringify({ ...own, repository, scripts: { 'break-controls': 'true' } }));
  write('package-lock.json', JSON.stringify({ ...own, lockfileVersion: 3, packages: {} }));
  write('CHANGELOG.md', changelog);
  write('.gitignore', '/release/\n');
  mkdirSync(join(folder, 'scripts'));
  write('scripts/test', '#!/bin/sh\necho all is well\n');
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message=first');
  git('tag', 'v1.2.3');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  test('is the package with its checksum, made after the checks', () => {
    const { status, stdout } = release();
    expect(stdout).toMatch(/all is well.*break-controls.*npm pack.*NO IMAGE.*git push origin v1\.2\.3/s);
    expect(status).toBe(0);
    const sums = readFileSync(join(folder, 'release/SHA256SUMS'), 'utf8');
    expect(sums).toMatch(/^[0-9a-f]{64} {2}door-1\.2\.3\.tgz\n$/);
    expect(() => execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'release') })).not.toThrow();
  });

  test('is only told of in a dry run', () => {
    const { status, stdout } = release('--dry-run', 'v1.2.3');
    expect(status).toBe(0);
    expect(stdout).toContain('$ scripts/test');
    expect(stdout).not.toContain('all is well');
    expect(existsSync(join(folder, 'release'))).toBe(false);
  });

  test('is not made when a check fails', () => {
    write('scripts/test', '#!/bin/sh\nexit 1\n');
    git('commit', '--quiet', '--all', '--message=broken');
    git('tag', '--force', 'v1.2.3');
    expect(release()).toMatchObject({ status: 1, stderr: expect.stringContaining('Nothing was released') });
    expect(existsSync(join(folder, 'release'))).toBe(false);
  });
});

describe('no release is made, and nothing is run', () => {
  const commit = () => {
    git('commit', '--quiet', '--all', '--message=next');
    git('tag', '--force', 'v1.2.3');
  };
  test.each<[string, () => void, string[]]>([
    ['this commit has no tag', () => git('tag', '--delete', 'v1.2.3'), []],
    ['the tag is v1.2.4, and package.json has version 1.2.3', () => git('tag', 'v1.2.4'), ['v1.2.4']],
    [
      'v1.2.3 is not a tag of this commit',
      () => git('commit', '--quiet', '--allow-empty', '--message=later'),
      ['v1.2.3'],
    ],
    [
      'package-lock.json has version 1.2.2',
      () => {
        write('package-lock.json', '{"version":"1.2.2"}');
        commit();
      },
      [],
    ],
    [
      'CHANGELOG.md has nothing under "## 1.2.3 - YYYY-MM-DD"',
      () => {
        write('CHANGELOG.md', changelog.replace('1.2.3', '1.2.2'));
        commit();
      },
      [],
    ],
    [
      'CHANGELOG.md has lines under Unreleased',
      () => {
        write('CHANGELOG.md', changelog.replace('## Unreleased\n', '## Unreleased\n\n- It closes.\n'));
        commit();
      },
      [],
    ],
    ['there are changes that are not committed', () => appendFileSync(join(folder, 'package.json'), '\n'), []],
  ])('where %s', (problem, make, words) => {
    make();
    const { status, stdout, stderr } = release(...words);
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(`release: ${problem}`)]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  });
});
