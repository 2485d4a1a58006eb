import { describe, expect, test } from 'vitest';
import {
  type ChangedPathsLimits,
  changedProtectedPaths,
} from '../../../../../src/protocols/git/objects/changed-paths.ts';
import type { Commit } from '../../../../../src/protocols/git/objects/object-commit.ts';
import { oidOf } from '../../../../../src/protocols/git/objects/object-id.ts';
import { parseTree, treeBytes } from '../../../../../src/protocols/git/objects/object-tree.ts';
import { treeText } from './pack-builder.ts';

/** `path: content`, or `path: [mode, content]`. */
type Files = Record<string, string | [mode: string, content: string]>;

class Repository {
  readonly trees = new Map<string, Buffer>();
  readonly commits = new Map<string, Commit>();
  treesRead: string[] = [];

  commit(name: string, parents: string[], files: Files): string {
    this.commits.set(name, { tree: this.#tree(files), parents });
    return name;
  }

  judge(commits: string[], limits: Partial<ChangedPathsLimits> = {}, directory = '.github/workflows') {
    this.treesRead = [];
    return changedProtectedPaths({
      commits,
      commit: (oid) => this.commits.get(oid) as Commit,
      tree: async (oid) => {
        this.treesRead.push(oid);
        const content = this.trees.get(oid) as Buffer;
        return { entries: await parseTree(content), bytes: treeBytes(content) };
      },
      matches: (path) => path.startsWith(`${directory}/`),
      couldMatchBelow: (path) =>
        path === '' || `${directory}/`.startsWith(`${path}/`) || path.startsWith(`${directory}/`),
      limits,
    });
  }

  #tree(files: Files): string {
    const entries: [string, string, string][] = [];
    const directories = new Map<string, Files>();
    for (const [path, file] of Object.entries(files)) {
      const slash = path.indexOf('/');
      if (slash === -1) {
        const [mode, content] = typeof file === 'string' ? ['100644', file] : file;
        entries.push([mode, path, oidOf('blob', Buffer.from(content))]);
      } else {
        const name = path.slice(0, slash);
        directories.set(name, { ...directories.get(name), [path.slice(slash + 1)]: file });
      }
    }
    for (const [name, inside] of directories) entries.push(['40000', name, this.#tree(inside)]);
    const text = treeText(entries);
    const oid = oidOf('tree', text);
    this.trees.set(oid, text);
    return oid;
  }
}

const ci = '.github/workflows/ci.yml';
const introduced = (commit: string, path = ci) => ({ kind: 'introduced', commit, path });

describe('a commit that changes a protected path is found', () => {
  const base: Files = { [ci]: 'safe', 'src/a.ts': 'a', '.github/CODEOWNERS': 'me' };
  const cases: [string, Files, string[]][] = [
    ['changed', { ...base, [ci]: 'evil' }, [ci]],
    ['added', { ...base, '.github/workflows/new/x.yml': 'evil' }, ['.github/workflows/new/x.yml']],
    ['removed with its directory', { 'src/a.ts': 'a' }, [ci]],
    ['made executable', { ...base, [ci]: ['100755', 'safe'] }, [ci]],
    ['made a symbolic link', { ...base, [ci]: ['120000', 'safe'] }, [ci]],
    ['replaced by a directory', { ...base, [ci]: undefined as never, [`${ci}/x`]: 'evil' }, [ci, `${ci}/x`]],
    [
      'its directory replaced by a link',
      { 'src/a.ts': 'a', '.github/workflows': ['120000', '../src'] },
      [ci, '.github/workflows'],
    ],
    ['its directory replaced by a submodule', { '.github': ['160000', 'x'] }, [ci, '.github']],
    ['beside it', { ...base, 'src/a.ts': 'b', '.github/CODEOWNERS': 'you', '.github/Workflows/ci.yml': 'x' }, []],
    ['nothing', base, []],
  ];

  test.each(cases)('%s', async (_, files, expected) => {
    const repository = new Repository();
    repository.commit('base', [], base);
    const present = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== undefined));
    repository.commit('new', ['base'], present);
    const found = await repository.judge(['new']);
    expect(found.sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
      [...expected].sort().map((path) => introduced('new', path)),
    );
  });

  test('a root commit introduces all that is in it', async () => {
    const repository = new Repository();
    repository.commit('root', [], base);
    expect(await repository.judge(['root'])).toEqual([introduced('root')]);
  });

  test('changed and changed back in one push, it is found in both', async () => {
    const repository = new Repository();
    repository.commit('base', [], base);
    repository.commit('there', ['base'], { ...base, [ci]: 'evil' });
    repository.commit('back', ['there'], base);
    expect(await repository.judge(['back', 'there'])).toEqual([introduced('back'), introduced('there')]);
  });

  test('a name beyond ASCII is found as the text it is', async () => {
    const repository = new Repository();
    repository.commit('base', [], {});
    repository.commit('new', ['base'], { '.github/workflows/\u00e9.yml': 'x' });
    expect(await repository.judge(['new'])).toEqual([introduced('new', '.github/workflows/\u00e9.yml')]);
  });
});

describe('a merge is judged by what it makes itself', () => {
  const repository = new Repository();
  repository.commit('base', [], { [ci]: 'one', a: 'a' });
  repository.commit('main', ['base'], { [ci]: 'two', a: 'a' });
  repository.commit('side', ['base'], { [ci]: 'one', a: 'b' });

  test('taking the version of one parent is told apart, with the parent it came from', async () => {
    repository.commit('merge', ['side', 'main'], { [ci]: 'two', a: 'b' });
    expect(await repository.judge(['merge'])).toEqual([{ kind: 'taken', commit: 'merge', path: ci, from: 'main' }]);
  });

  test('a version that no parent has is introduced', async () => {
    repository.commit('evil', ['side', 'main'], { [ci]: 'evil', a: 'b' });
    expect(await repository.judge(['evil'])).toEqual([introduced('evil')]);
  });

  test('gone from the merge, though all parents have it, is introduced', async () => {
    repository.commit('gone', ['side', 'main'], { a: 'b' });
    expect(await repository.judge(['gone'])).toEqual([introduced('gone')]);
  });

  test('as in all parents is no change', async () => {
    repository.commit('other', ['base'], { [ci]: 'one', a: 'c' });
    repository.commit('plain', ['side', 'other'], { [ci]: 'one', a: 'd' });
    expect(await repository.judge(['plain'])).toEqual([]);
  });
});

describe('the search is bounded', () => {
  test('trees that are the same, or that no pattern reaches into, are not read', async () => {
    const repository = new Repository();
    repository.commit('base', [], { [ci]: 'safe', 'src/deep/a': 'a' });
    repository.commit('new', ['base'], { [ci]: 'safe', 'src/deep/a': 'b' });
    expect(await repository.judge(['new'])).toEqual([]);
    expect(repository.treesRead).toHaveLength(2);
  });

  test('too many trees or entries are refused; findings stop at enough', async () => {
    const repository = new Repository();
    const files = Object.fromEntries([1, 2, 3, 4].map((n) => [`.github/workflows/${n}.yml`, 'x']));
    repository.commit('root', [], files);
    const tooLarge = { code: 'too-large' };
    await expect(repository.judge(['root'], { maxTrees: 2 })).rejects.toMatchObject(tooLarge);
    await expect(repository.judge(['root'], { maxEntries: 3 })).rejects.toMatchObject(tooLarge);
    expect(await repository.judge(['root'], { maxFindings: 2 })).toHaveLength(2);
  });
});
