import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseCommit } from '../../src/protocols/git/objects/object-commit.ts';
import { type ObjectType, oidOf } from '../../src/protocols/git/objects/object-id.ts';
import type { PackObjects } from '../../src/protocols/git/objects/pack-objects.ts';
import { objectsOf, scan } from '../unit/protocols/git/objects/pack-builder.ts';
import { Chance, GitRepository, seedOf } from './git-pack-ground.ts';

const seed = seedOf('git-pack-objects');
const chance = new Chance(seed);
const repository = new GitRepository();
afterAll(() => repository.remove());

/** A line of commits with files that grow, so that everything makes good deltas: blobs, trees and even commits. */
beforeAll(() => {
  const stream: string[] = [];
  const files = new Map<string, string>();
  const longMessage = 'a line that most commits share, long enough to be worth a delta\n'.repeat(8);
  for (let n = 1; n <= 120; n++) {
    stream.push('commit refs/heads/main', `mark :${n}`, 'committer a <a@b> 1700000000 +0000');
    const message = `${longMessage}number ${n}\n`;
    stream.push(`data ${message.length}`, message);
    if (n > 1) stream.push(`from :${n - 1}`);
    if (n > 10 && n % 9 === 0) stream.push(`merge :${n - 2 - chance.below(8)}`);
    for (let change = 0; change < 3; change++) {
      const path = `d${chance.below(3)}/e${chance.below(3)}/file${chance.below(30)}`;
      const content = `${files.get(path) ?? ''}${path} in ${n} ${chance.below(1e9)}\n`;
      files.set(path, content);
      stream.push(`M 100644 inline ${path}`, `data ${content.length}`, content);
    }
    if (n % 40 === 0) {
      stream.push(
        `M 100644 inline large${n}`,
        `data ${200_000}`,
        `${chance.below(1e9)} `.repeat(40_000).slice(0, 200_000),
      );
    }
    stream.push('');
  }
  stream.push('tag v1', 'from :50', 'tagger a <a@b> 1700000000 +0000', 'data 3', 'v1\n');
  repository.git(['fast-import', '--quiet'], `${stream.join('\n')}\n`);
});

interface Listed {
  readonly type: ObjectType;
  readonly oid: string;
}

function gitLists(revisions: string): Listed[] {
  const ids = repository.lines(['rev-list', '--objects', '--stdin', '--no-object-names'], revisions).join('\n');
  return repository.lines(['cat-file', '--batch-check=%(objecttype) %(objectname)'], `${ids}\n`).map((line) => {
    const [type, oid] = line.split(' ') as [ObjectType, string];
    return { type, oid };
  });
}

async function expectSame(objects: PackObjects, listed: readonly Listed[]): Promise<void> {
  const wanted = listed.filter(({ type }) => type !== 'blob');
  expect(objects.missingBases).toEqual([]);
  expect(objects.commits.size).toBe(wanted.filter(({ type }) => type === 'commit').length);
  for (const { type, oid } of wanted) {
    const object = objects.get(oid);
    expect(object?.type, oid).toBe(type);
    expect(oidOf(type, (await object?.content()) as Buffer)).toBe(oid);
  }
}

const everything = 'refs/heads/main\nrefs/tags/v1\n';
/** With the kind of delta that must be in the pack, so that each way is what it says. */
const ways: [string, string[], 'none' | 'offset' | 'ref'][] = [
  ['no deltas', ['--window=0', '--no-reuse-delta'], 'none'],
  ['deltas by offset', ['--delta-base-offset', '--no-reuse-delta'], 'offset'],
  ['deltas by id', ['--no-reuse-delta'], 'ref'],
  ['deep chains by offset', ['--delta-base-offset', '--no-reuse-delta', '--window=50', '--depth=4095'], 'offset'],
  ['deep chains by id', ['--no-reuse-delta', '--window=50', '--depth=4095'], 'ref'],
  ['shallow chains', ['--delta-base-offset', '--no-reuse-delta', '--window=5', '--depth=1'], 'offset'],
  ['stored without compression', ['--delta-base-offset', '--compression=0', '--no-reuse-object'], 'offset'],
  ['compressed the most', ['--compression=9', '--no-reuse-object'], 'ref'],
  ['deltas confined to islands of size', ['--delta-base-offset', '--window-memory=10k', '--no-reuse-delta'], 'offset'],
];

describe('a pack that git wrote holds for us what it holds for git', () => {
  test.each(ways)('%s', async (_, options, kind) => {
    const pack = repository.git(['pack-objects', '--revs', '--stdout', '-q', ...options], everything);
    const listed = gitLists(everything);
    const { entries } = await scan(pack);
    const codes = new Set(Array.from({ length: entries.count }, (_, index) => entries.code(index)));
    expect([codes.has(6), codes.has(7)]).toEqual([kind === 'offset', kind === 'ref']);
    for (const limits of [{}, { maxHeldBytes: 2_000, cacheBytes: 100_000 }]) {
      await expectSame(await objectsOf(pack, limits), listed);
    }
  });

  test('commits have the parents and trees that git prints', async () => {
    const pack = repository.git(['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset'], everything);
    const { commits, tags } = await objectsOf(pack);
    const printed = repository.lines(['log', '--all', '--format=%H %T %P']);
    expect(printed).toHaveLength(120);
    for (const line of printed) {
      const [oid, tree, ...parents] = line.trim().split(' ') as [string, string, ...string[]];
      const { tree: ownTree, parents: ownParents } = commits.get(oid)!;
      expect({ tree: ownTree, parents: ownParents }).toEqual({ tree, parents });
    }
    expect([...tags.values()].map(({ target }) => target)).toEqual(repository.lines(['rev-parse', 'v1^{commit}']));
  });

  test.each([
    ['by id', []],
    ['by offset', ['--delta-base-offset']],
  ])('a thin pack, with deltas %s, once its bases are brought', async (_, options) => {
    const revisions = 'refs/heads/main\n--not\nrefs/heads/main~5\n';
    const whole = gitLists('refs/heads/main\n^refs/heads/main~5\n');
    const pack = repository.git(
      ['pack-objects', '--revs', '--thin', '--stdout', '-q', '--no-reuse-delta', ...options],
      revisions,
    );
    const objects = await objectsOf(pack);
    const inPack = new Set(whole.map(({ oid }) => oid));
    expect(objects.missingBases.length).toBeGreaterThan(0);
    for (let rounds = 0; objects.missingBases.length > 0; rounds++) {
      expect(rounds).toBeLessThan(10);
      // The server has only what is not new; a base that is itself in the pack shows itself once its own is there.
      for (const oid of objects.missingBases.filter((missing) => !inPack.has(missing))) {
        const type = repository.lines(['cat-file', '-t', oid])[0] as ObjectType;
        objects.supply(oid, type, repository.git(['cat-file', type, oid]));
      }
      await objects.resolve();
    }
    await expectSame(objects, whole);
  });

  test('commit texts that git makes are read as git reads them', () => {
    const tip = repository.git(['cat-file', 'commit', 'main']);
    expect(parseCommit(tip).parents).toEqual(repository.lines(['rev-parse', 'main^@']));
  });
});
