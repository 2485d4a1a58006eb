import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChangedPath, changedProtectedPaths } from '../../src/protocols/git/objects/changed-paths.ts';
import type { Commit } from '../../src/protocols/git/objects/object-commit.ts';
import { parseTree, treeBytes } from '../../src/protocols/git/objects/object-tree.ts';
import { objectsOf } from '../unit/protocols/git/objects/pack-builder.ts';
import { Chance, GitRepository, howMany, seedOf } from './git-pack-ground.ts';

const COMMITS = howMany(250);
const seed = seedOf('git-pack-changed-paths');
const chance = new Chance(seed);
const repository = new GitRepository();
afterAll(() => repository.remove());

const paths = [
  '.github/workflows/ci.yml',
  '.github/workflows/deep/er.yml',
  '.github/workflows/ci.yml/now-a-directory',
  '.github/workflows',
  '.github/Workflows/ci.yml',
  '.github/workflows-not/ci.yml',
  '.github/CODEOWNERS',
  '.github',
  'src/.github/workflows/ci.yml',
  'src/a.ts',
  'README',
];
const modes = ['100644', '100644', '100644', '100755', '120000', '160000'];

const matches = (path: string) => path.startsWith('.github/workflows/');
const couldMatchBelow = (path: string) =>
  ['', '.github', '.github/workflows'].includes(path) || path.startsWith('.github/workflows/');

beforeAll(() => {
  const stream: string[] = [];
  for (let n = 1; n <= COMMITS; n++) {
    stream.push(`commit refs/heads/b${n}`, `mark :${n}`, 'committer a <a@b> 1700000000 +0000');
    // No two the same commit: a merge of both would name one parent twice.
    stream.push(`data ${String(n).length}`, String(n));
    const isRoot = n === 1 || chance.below(40) === 0;
    if (!isRoot) {
      // Each once: a commit that names a parent twice is refused.
      const parents = new Set([n - 1 - chance.below(Math.min(n - 1, 6))]);
      for (let merges = chance.below(6) - 3; merges > 0; merges--) {
        parents.add(n - 1 - chance.below(Math.min(n - 1, 12)));
      }
      stream.push(...[...parents].map((parent, place) => `${place === 0 ? 'from' : 'merge'} :${parent}`));
    }
    for (let changes = 1 + chance.below(4); changes > 0; changes--) {
      const path = chance.one(paths);
      const mode = chance.one(modes);
      const content = `content ${chance.below(4)}`;
      if (chance.below(4) === 0) stream.push(`D ${path}`);
      else if (mode === '160000') stream.push(`M 160000 ${String(chance.below(3) + 1).repeat(40)} ${path}`);
      else stream.push(`M ${mode} inline ${path}`, `data ${content.length}`, content);
    }
    stream.push('');
  }
  repository.git(['fast-import', '--quiet'], `${stream.join('\n')}\n`);
});

/** By git: the paths in which a commit differs from one parent, with both modes; from nothing when it has none. */
function gitDiffers(commit: string, parent: string | null): Map<string, string[]> {
  const args = ['diff-tree', '-r', '--raw', '--no-renames', '--no-commit-id', '-z'];
  const fields = repository
    .git(parent === null ? [...args, '--root', commit] : [...args, parent, commit])
    .toString('utf8')
    .split('\0');
  const differs = new Map<string, string[]>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    differs.set(fields[at + 1] as string, (fields[at] as string).slice(1).split(' ').slice(0, 2));
  }
  return differs;
}

function gitJudges(commit: string, parents: readonly string[]): ChangedPath[] {
  const differences = (parents.length === 0 ? [null] : parents).map((parent) => gitDiffers(commit, parent));
  const found: ChangedPath[] = [];
  for (const path of new Set(differences.flatMap((differs) => [...differs.keys()]))) {
    const isLink = differences.some((differs) => differs.get(path)?.some((mode) => /^(120|160)000$/.test(mode)));
    if (!matches(path) && !(isLink && couldMatchBelow(path))) continue;
    const same = parents[differences.findIndex((differs) => !differs.has(path))];
    found.push(same === undefined ? { kind: 'introduced', commit, path } : { kind: 'taken', commit, path, from: same });
  }
  return found;
}

const sorted = (found: readonly ChangedPath[]) => found.map((each) => JSON.stringify(each)).sort();

describe('the protected paths that a commit changes are those git diff-tree shows', () => {
  test(`in ${COMMITS} commits made by chance, read from a pack that git wrote`, async () => {
    const tips = repository.lines(['rev-list', '--all']);
    const pack = repository.git(['pack-objects', '--all', '--revs', '--stdout', '-q', '--delta-base-offset']);
    const objects = await objectsOf(pack);
    expect(objects.commits.size).toBe(tips.length);
    const kinds = new Map<string, number>();
    for (const [oid, { parents }] of objects.commits) {
      const ours = await changedProtectedPaths({
        commits: [oid],
        commit: (id) => objects.commits.get(id) as Commit,
        tree: async (id) => {
          const content = (await objects.get(id)?.content()) as Buffer;
          return { entries: await parseTree(content), bytes: treeBytes(content) };
        },
        matches,
        couldMatchBelow,
      });
      expect(sorted(ours), `SEED=${seed} ${oid}`).toEqual(sorted(gitJudges(oid, parents)));
      for (const { kind } of ours) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    // A run that found nothing would prove nothing.
    expect(kinds.get('introduced')).toBeGreaterThan(COMMITS / 10);
    expect(kinds.get('taken')).toBeGreaterThan(10);
  }, 120_000);
});
