import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { remotesIn } from '../../src/policy/init/find-remotes.ts';

test('remotes that git wrote are read as git reads them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-remotes-'));
  try {
    const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
    const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' });
    git('init', '-q');
    git('remote', 'add', 'origin', 'https://github.com/acme/widgets.git');
    git('remote', 'add', 'odd.name-x', 'git@git.example.com:acme/with#hash.git');
    git('remote', 'set-url', '--add', 'origin', 'https://other.example.com/acme/widgets.git');
    git('remote', 'add', 'gone', 'https://gone.example.com/a/b');
    git('remote', 'remove', 'gone');
    const { remotes: read } = remotesIn(readFileSync(join(folder, '.git', 'config'), 'utf8'));
    const names = git('remote').trim().split('\n').sort();
    expect(read.map(({ name }) => name).sort()).toEqual(names);
    for (const { name, host } of read) expect(git('remote', 'get-url', name)).toContain(host);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
