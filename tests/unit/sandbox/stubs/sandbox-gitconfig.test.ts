import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  renderSandboxGitconfig,
  renderUrlRewrites,
  sandboxGitEnvironment,
  sandboxGitFiles,
  wantsUrlRewriting,
} from '../../../../src/sandbox/stubs/sandbox-gitconfig.ts';

const directory = '/etc/sallyport/git';
const ready = { directory, hosts: ['github.com'], lfs: true };

/** As git itself reads a file: `key` and `value` by turns of appearance. */
function readByGit(text: string): [key: string, value: string][] {
  const folder = mkdtempSync(join(tmpdir(), 'gitconfig-'));
  try {
    writeFileSync(join(folder, 'file'), text);
    const listed = execFileSync('git', ['config', '--file', join(folder, 'file'), '--null', '--list'], {
      encoding: 'utf8',
    });
    return listed
      .split('\0')
      .slice(0, -1)
      .map((entry) => {
        const end = entry.indexOf('\n');
        return [entry.slice(0, end), entry.slice(end + 1)];
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The pairs that GIT_CONFIG_COUNT announces. */
function pinsOf(environment: Record<string, string>): [string, string][] {
  return Array.from({ length: Number(environment.GIT_CONFIG_COUNT) }, (_, i) => [
    environment[`GIT_CONFIG_KEY_${i}`]!,
    environment[`GIT_CONFIG_VALUE_${i}`]!,
  ]);
}

describe('the system configuration of git in a sandbox', () => {
  test('git reads back what the environment pins, key by key', () => {
    const inFile = readByGit(renderSandboxGitconfig(ready));
    const pins = pinsOf(sandboxGitEnvironment(ready));
    expect(pins.length).toBeGreaterThan(10);
    for (const [key, value] of pins) {
      // git writes the names of sections and keys in lower case; what stands between the dots it keeps.
      expect(inFile).toContainEqual([key.toLowerCase(), value]);
    }
  });

  test('only https goes out; local paths are for the user alone', () => {
    const protocols = readByGit(renderSandboxGitconfig(ready)).filter(([key]) => key.startsWith('protocol.'));
    expect(protocols.filter(([, value]) => value !== 'never')).toEqual([
      ['protocol.https.allow', 'always'],
      ['protocol.file.allow', 'user'],
    ]);
    expect(protocols).toContainEqual(['protocol.allow', 'never']);
  });

  test('git-lfs is set up where it is installed and not mentioned elsewhere', () => {
    const keys = (lfs: boolean) => readByGit(renderSandboxGitconfig({ ...ready, lfs })).map(([key]) => key);
    expect(keys(true)).toEqual(expect.arrayContaining(['filter.lfs.process', 'filter.lfs.required']));
    expect(keys(false).filter((key) => key.startsWith('filter.'))).toEqual([]);
  });

  test('a path with quotes, a backslash, a hash and a line feed stays one value', () => {
    const odd = '/work/it"s \\ # [a]\n\tplace';
    const safeDirectories = [odd, '/workspace'];
    const read = readByGit(renderSandboxGitconfig({ ...ready, safeDirectories }));
    expect(read.filter(([key]) => key === 'safe.directory').map(([, value]) => value)).toEqual(safeDirectories);
  });

  test('a directory that is not absolute is refused: git would look for it below wherever it runs', () => {
    expect(() => sandboxGitFiles({ ...ready, directory: 'etc' })).toThrow('"etc" is not an absolute path');
  });
});

describe('the rewriting of URLs', () => {
  test('every spelling of every host becomes https', () => {
    const rewrites = readByGit(renderUrlRewrites(['github.com', 'ghe.example.com']));
    const of = (host: string) => rewrites.filter(([key]) => key === `url.https://${host}/.insteadof`).map(([, v]) => v);
    expect(of('github.com')).toEqual(
      expect.arrayContaining(['git@github.com:', 'ssh://git@github.com/', 'git://github.com/', 'http://github.com/']),
    );
    expect(of('ghe.example.com').map((text) => text.replace('ghe.example.com', 'github.com'))).toEqual(
      of('github.com'),
    );
  });

  test.each(['', 'a"b', 'a\nb', 'Git.example.com', 'a.example/b', '-a.example'])('%j is no host', (host) => {
    expect(() => renderUrlRewrites([host])).toThrow('is not a host name');
  });

  test('it lies in a file of its own, which the environment can leave out', () => {
    const text = (name: string) => sandboxGitFiles(ready).find((file) => file.name === name)!.text;
    expect(readByGit(text('gitconfig')).map(([, value]) => value)).toEqual([
      `${directory}/tame.gitconfig`,
      `${directory}/rewrite-urls.gitconfig`,
    ]);
    expect(text('tame.gitconfig')).not.toContain('insteadOf');
    expect(sandboxGitEnvironment({ directory }).GIT_CONFIG_SYSTEM).toBe(`${directory}/gitconfig`);
    expect(sandboxGitEnvironment({ directory, rewriteUrls: false }).GIT_CONFIG_SYSTEM).toBe(
      `${directory}/tame.gitconfig`,
    );
  });

  test('the operator’s switch is on, off or absent; anything else is an error that names it', () => {
    expect(wantsUrlRewriting({})).toBe(true);
    expect(wantsUrlRewriting({ SALLYPORT_GIT_REWRITE: 'on' })).toBe(true);
    expect(wantsUrlRewriting({ SALLYPORT_GIT_REWRITE: 'off' })).toBe(false);
    expect(() => wantsUrlRewriting({ SALLYPORT_GIT_REWRITE: 'no' })).toThrow('SALLYPORT_GIT_REWRITE is "no"');
  });
});

describe('config/sandbox-git, for sandboxes that are started by hand', () => {
  const folder = fileURLToPath(new URL('../../../../config/sandbox-git/', import.meta.url));
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

  test('the files are what a launcher would lay down', () => {
    const made = sandboxGitFiles(ready);
    for (const { name, text, mode } of made) {
      expect(read(name), name).toBe(text);
      expect((statSync(join(folder, name)).mode & 0o100) !== 0, name).toBe((mode & 0o100) !== 0);
    }
    const there = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(there.sort()).toEqual([...made.map(({ name }) => name), 'environment', 'hooks'].sort());
  });

  test('its environment is the one a launcher would set', () => {
    const lines = Object.entries(sandboxGitEnvironment({ directory })).map(([name, value]) => `${name}=${value}\n`);
    expect(read('environment')).toBe(lines.join(''));
  });
});
