import { describe, expect, test } from 'vitest';
import {
  findNewCommits,
  type PushedHistory,
  withoutOldCommits,
} from '../../../../../src/stages/authorize/git/pushed-history.ts';
import { objectsOf, packOf } from '../../../protocols/git/objects/pack-builder.ts';
import { command, History, MemoryServer, zeroId } from './git-push-ground.ts';

/** `main` on the server over a root, and whatever else a test sets. */
function ground() {
  const history = new History();
  const base = history.commit([]);
  const main = history.commit([base]);
  const server = new MemoryServer(history, { 'refs/heads/main': main });
  server.name(base, 'base');
  const find = async (tip: string, sent?: Iterable<string>, ref = 'refs/heads/work'): Promise<PushedHistory> => {
    const pack = sent === undefined ? history.pack([tip], server) : packOf(history.partsOf(sent));
    const refs = await server.refs([ref, 'refs/heads/main']);
    return findNewCommits([command(ref, tip)], await objectsOf(pack), refs, server);
  };
  return { history, base, main, server, find };
}

const idsOf = ({ commits }: PushedHistory): Set<string> => new Set(commits.keys());
const refs = 'refs refs/heads/work refs/heads/main';
const allRefs = 'refs refs/heads/ refs/tags/';

describe('the new commits of a push', () => {
  test('on top of a tip that was asked for by name: those of the pack, and no question about commits', async () => {
    const { history, main, server, find } = ground();
    const one = history.commit([main]);
    const two = history.commit([one]);
    const found = await find(two);
    expect(idsOf(found)).toEqual(new Set([one, two]));
    expect(found.tips).toEqual(new Map([['refs/heads/main', main]]));
    expect(server.asked).toEqual([refs]);
  });

  test('on top of a commit below a tip: one question, and the answer is none', async () => {
    const { history, base, server, find } = ground();
    const tip = history.commit([base]);
    expect(idsOf(await find(tip))).toEqual(new Set([tip]));
    expect(server.asked).toEqual([refs, 'commits base not main']);
  });

  test('an empty pack onto a known tip asks no question about commits either', async () => {
    const { main, server, find } = ground();
    expect(idsOf(await find(main, []))).toEqual(new Set());
    expect(server.asked).toEqual([refs]);
  });

  test('on top of another branch: the list of refs is asked for, and then the commits once more at the most', async () => {
    const { history, main, server, find } = ground();
    const below = server.name(history.commit([main]), 'below');
    const other = history.commit([below]);
    server.setRef('refs/heads/other', other);
    const onTip = history.commit([other]);
    expect(idsOf(await find(onTip))).toEqual(new Set([onTip]));
    expect(server.asked).toEqual([refs, 'commits other not main', allRefs]);
    server.asked.length = 0;
    const onBelow = history.commit([below]);
    expect(idsOf(await find(onBelow))).toEqual(new Set([onBelow]));
    expect(server.asked).toEqual([refs, 'commits below not main', allRefs, 'commits below not main other']);
  });

  test('a tag counts by what it leads to, also one of a tag', async () => {
    const { history, main, server, find } = ground();
    const released = history.commit([main]);
    server.setRef('refs/tags/v1', history.tag(history.tag(released), 'tag'));
    const tip = history.commit([released]);
    expect(idsOf(await find(tip))).toEqual(new Set([tip]));
  });

  test('stray commits are among them: on the server, and reached by no branch and no tag', async () => {
    const { history, main, server, find } = ground();
    const stray = history.commit([main]);
    const second = history.commit([stray]);
    server.hold(second);
    server.setRef('refs/pull/7/head', second);
    const tip = history.commit([second]);
    expect(idsOf(await find(tip))).toEqual(new Set([tip, second, stray]));
    expect(idsOf(await find(second, []))).toEqual(new Set([second, stray]));
  });

  test('also where the push itself names a ref beside branches and tags that leads to them', async () => {
    const { history, main, server, find } = ground();
    const stray = history.commit([main]);
    server.setRef('refs/pull/7/head', stray);
    const tip = history.commit([stray]);
    const found = await find(tip, [tip], 'refs/pull/7/head');
    expect(idsOf(found)).toEqual(new Set([tip, stray]));
    expect([...found.tips.keys()]).toEqual(['refs/heads/main']);
  });

  test('also behind a tag of the push, or in its place', async () => {
    const { history, main, server, find } = ground();
    const stray = history.commit([main]);
    server.hold(stray);
    const tag = history.tag(stray);
    expect(idsOf(await find(tag, [tag], 'refs/tags/v1'))).toEqual(new Set([stray]));
    const outer = history.tag(tag, 'tag');
    server.hold(tag);
    expect(idsOf(await find(outer, [outer], 'refs/tags/v1'))).toEqual(new Set([stray]));
    expect(idsOf(await find(stray, [], 'refs/tags/light'))).toEqual(new Set([stray]));
  });

  test('a tag of a tree or a blob leads to no commit', async () => {
    const { history, server, find } = ground();
    const tree = history.tree({ a: '1' });
    const tag = history.tag(tree, 'tree');
    expect(idsOf(await find(tag, [tag, tree], 'refs/tags/v1'))).toEqual(new Set());
    expect(server.asked).toEqual(['refs refs/tags/v1 refs/heads/main']);
  });

  test('a deletion brings none', async () => {
    const { server, find } = ground();
    expect(idsOf(await find(zeroId, []))).toEqual(new Set());
    expect(server.asked).toEqual([refs]);
  });

  test('a parent that nobody has ends in an error, never in "nothing new"', async () => {
    const { history, find } = ground();
    const tip = history.commit([history.commit([])]);
    await expect(find(tip, [tip])).rejects.toMatchObject({ name: 'GitRemoteError' });
  });
});

describe('commits that the server has already are left out', () => {
  test('when a branch or a tag reaches them; one question what it has, one whether they are reached', async () => {
    const { history, main, server, find } = ground();
    const let1 = history.commit([main]);
    const let2 = history.commit([let1]);
    server.setRef('refs/heads/other', history.commit([let2]));
    const tip = history.commit([let2]);
    for (const [id, name] of Object.entries({ let1, let2, tip }).map(([name, id]) => [id, name] as const)) {
      server.name(id, name);
    }
    const found = await find(tip, [tip, let2, let1]);
    expect(idsOf(found)).toEqual(new Set([tip, let1, let2]));
    server.asked.length = 0;
    const fresh = await withoutOldCommits(found, server);
    expect(idsOf(fresh)).toEqual(new Set([tip]));
    expect(fresh.tips).toBe(found.tips);
    expect(server.asked).toEqual([allRefs, 'known tip let2 let1', 'commits let2 not main other']);
  });

  test('a tip itself is known without a question about commits', async () => {
    const { history, main, server, find } = ground();
    const other = history.commit([main]);
    server.setRef('refs/heads/other', other);
    const tip = history.commit([other]);
    const found = await find(tip, [tip, other]);
    server.asked.length = 0;
    expect(idsOf(await withoutOldCommits(found, server))).toEqual(new Set([tip]));
    expect(server.asked.filter((line) => line.startsWith('commits'))).toEqual([]);
  });

  test('but stray ones stay, in the pack or not, also below one that is reached', async () => {
    const { history, main, server, find } = ground();
    const stray = history.commit([main]);
    const above = history.commit([stray]);
    server.hold(above);
    server.setRef('refs/pull/7/head', above);
    const reached = history.commit([main]);
    server.setRef('refs/heads/other', history.commit([reached]));
    const merge = history.commit([above, reached]);
    const all = await find(merge, [merge, above, reached]);
    expect(idsOf(all)).toEqual(new Set([merge, above, stray, reached]));
    expect(idsOf(await withoutOldCommits(all, server))).toEqual(new Set([merge, above, stray]));
  });

  test('an empty server has none', async () => {
    const { history } = ground();
    const root = history.commit([]);
    const empty = new MemoryServer(history);
    const found = { commits: new Map([[root, history.commitAt(root)]]), tips: new Map() };
    expect(idsOf(await withoutOldCommits(found, empty))).toEqual(new Set([root]));
    expect(empty.asked).toEqual([allRefs]);
  });

  test('more commits than are looked for are all taken for new', async () => {
    const { history, main, server } = ground();
    const commit = history.commitAt(main);
    const commits = new Map(Array.from({ length: 50_001 }, (_, n) => [n.toString(16).padStart(40, '0'), commit]));
    const fresh = await withoutOldCommits({ commits, tips: new Map() }, server);
    expect(fresh.commits.size).toBe(50_001);
    expect(server.asked).toEqual([allRefs]);
  });
});
