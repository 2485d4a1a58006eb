import { describe, expect, test } from 'vitest';
import { findRepository, remotesIn } from '../../../../src/policy/init/find-remotes.ts';
import { findPackages } from '../../../../src/policy/init/survey.ts';
import { pretendMachine } from '../pretend-machine.ts';

const told = (config: string) =>
  remotesIn(config).remotes.map(({ name, host, repository }) => `${name} ${host} ${repository}`);
const remote = (url: string, name = 'origin') => `[remote "${name}"]\n\turl = ${url}\n\tfetch = +refs/heads/*:x\n`;

describe('remotes are read out of the configuration of a repository', () => {
  test.each([
    ['https://github.com/Acme/Widgets.git', 'origin github.com acme/widgets'],
    ['git@github.com:acme/widgets.git', 'origin github.com acme/widgets'],
    ['ssh://git@git.example.com:2222/acme/widgets', 'origin git.example.com acme/widgets'],
    ['ssh://git@ssh.github.com:443/acme/widgets.git', 'origin github.com acme/widgets'],
    ['https://ann:s3cret@git.example.com/acme/widgets.git', 'origin git.example.com acme/widgets'],
    ['https://gitlab.example.com/group/sub/project.git', 'origin gitlab.example.com null'],
    ['"https://github.com/acme/widgets" # mine', 'origin github.com acme/widgets'],
  ])('%s', (url, expected) => {
    expect(told(remote(url))).toEqual([expected]);
  });

  test.each([
    '/srv/git/widgets.git',
    '../widgets',
    'file:///srv/x.git',
    'C:\\git',
    'work:acme/widgets',
    'https://10.0.0.7/a/b',
    'ext::sh -c evil',
  ])('%s is not on another machine that has a name', (url) => {
    expect(told(remote(url))).toEqual([]);
    expect(remotesIn(remote(url)).unread).toEqual([{ name: 'origin', reason: expect.stringMatching(/^its? /) }]);
  });

  test('other sections have no say, and of several addresses the first counts', () => {
    const config = `[url "https://x.example/"]\n\turl = https://y.example/a/b\n${remote('git@a.example:o/r\n\turl = git@b.example:o/r')}[branch "main"]\n\tremote = origin\n`;
    expect(told(config)).toEqual(['origin a.example o/r']);
  });
});

describe('the repository around a folder', () => {
  const reads = (files: Record<string, string>) => pretendMachine({ files });

  test('is found from below, with origin first', () => {
    const config = remote('git@b.example:o/r', 'upstream') + remote('git@a.example:o/r');
    const found = findRepository('/p/src/deep', reads({ '/p/.git/config': config }));
    expect([found?.folder, ...(found?.remotes ?? []).map(({ name }) => name)]).toEqual(['/p', 'origin', 'upstream']);
  });

  test('of a worktree and of a submodule is where its file points', () => {
    const config = remote('git@a.example:o/r');
    const worktree = {
      '/w/.git': 'gitdir: /p/.git/worktrees/w\n',
      '/p/.git/worktrees/w/commondir': '../..\n',
      '/p/.git/config': config,
    };
    expect(findRepository('/w', reads(worktree))?.remotes).toHaveLength(1);
    const submodule = { '/p/sub/.git': 'gitdir: ../.git/modules/sub\n', '/p/.git/modules/sub/config': config };
    expect(findRepository('/p/sub', reads(submodule))?.remotes).toHaveLength(1);
  });

  test('may be missing', () => {
    expect(findRepository('/p/src', reads({}))).toBe(null);
  });

  test('whose configuration cannot be read says so, and the one above is not taken for it', () => {
    const files = { '/p/sub/.git': 'gitdir: /nowhere\n', '/p/.git/config': remote('git@a.example:o/r') };
    expect(findRepository('/p/sub', reads(files))).toMatchObject({
      folder: '/p/sub',
      remotes: [],
      unread: [{ name: null, reason: 'the configuration of this repository cannot be read' }],
    });
  });
});

test('package managers are known by their files, here and at the top of the repository', () => {
  const names: Record<string, string[]> = {
    '/p': ['Cargo.lock', 'go.mod', 'pom.xml', 'x.gemspec'],
    '/p/web': ['composer.json', 'package.json', 'requirements-dev.txt', 'evil\n- host: x.gemspec'],
  };
  const found = findPackages(['/p/web', '/p'], (path) => names[path] ?? []);
  expect(found.map(({ preset, file }) => `${preset} ${file}`)).toEqual([
    'npm package.json',
    'pypi requirements-dev.txt',
    'golang go.mod',
    'crates Cargo.lock',
    'rubygems x.gemspec',
    'maven pom.xml',
    'packagist composer.json',
  ]);
});
