import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { gitlinksIn, parseIndex } from '../../../../src/sandbox/traps/git-index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'git-index-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });

function addAll(format: string, links: readonly string[]): void {
  git('init', '-q', `--object-format=${format}`);
  for (const name of ['a', 'b-long/name', 'b-long/name-too', 'z']) {
    execFileSync('mkdir', ['-p', join(folder, name, '..')]);
    writeFileSync(join(folder, name), name);
  }
  git('add', '.');
  const id = (format === 'sha1' ? '1' : '12').padEnd(format === 'sha1' ? 40 : 64, 'a');
  for (const link of links) git('update-index', '--add', '--cacheinfo', `160000,${id},${link}`);
}

test.each(['sha1', 'sha256'])('gitlinks of an index with ids of %s are found in every version', (format) => {
  const links = ['b-long/link', 'b-long/link-two', 'vendor/ünï'];
  addAll(format, links);
  for (const version of ['2', '3', '4']) {
    git('update-index', '--index-version', version);
    expect(gitlinksIn(join(folder, '.git'))).toEqual(links);
  }
  writeFileSync(join(folder, 'later'), '');
  git('update-index', '--index-version', '3');
  git('add', '--intent-to-add', 'later');
  expect(gitlinksIn(join(folder, '.git'))).toEqual(links);
});

test('those of a split index too', () => {
  addAll('sha1', ['x/link']);
  git('update-index', '--split-index');
  git('update-index', '--add', '--cacheinfo', `160000,${'b'.repeat(40)},y/link`);
  expect(gitlinksIn(join(folder, '.git'))!.toSorted()).toEqual(['x/link', 'y/link']);
});

test('no index is none, and one that cannot be read is said to be', () => {
  addAll('sha1', []);
  expect(gitlinksIn(join(folder, '.git'))).toEqual([]);
  expect(gitlinksIn(folder)).toEqual([]);
  const whole = readFileSync(join(folder, '.git/index'));
  for (const broken of [whole.subarray(0, 60), Buffer.from('DIRC'), Buffer.from(''), Buffer.from('junk'.repeat(20))]) {
    writeFileSync(join(folder, '.git/index'), broken);
    expect(gitlinksIn(join(folder, '.git'))).toBeNull();
  }
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(at) ^ 0xff, at);
    expect(() => parseIndex(flipped)).not.toThrow();
  }
});
