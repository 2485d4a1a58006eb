// The pack of a push may hold its objects in any order and any form that git's own reader takes. None of them may keep a
// commit, or the tree of one, out of sight.
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { oidOf } from '../../../src/protocols/git/objects/object-id.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';
import {
  commitText,
  literalDelta,
  type Part,
  packOf,
  treeText,
} from '../../unit/protocols/git/objects/pack-builder.ts';

let ground: PushGround;
let repository: TestRepository;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
});

interface Made {
  readonly id: string;
  readonly part: Part;
}

function made(type: 'commit' | 'tree' | 'blob', content: Buffer): Made {
  return { id: oidOf(type, content), part: { code: { commit: 1, tree: 2, blob: 3 }[type], content } };
}

/** A commit on main with one workflow and nothing else, and all that belongs to it. */
function evil() {
  const blob = made('blob', Buffer.from('on: evil\n'));
  const workflows = made('tree', treeText([['100644', 'ci.yml', blob.id]]));
  const github = made('tree', treeText([['40000', 'workflows', workflows.id]]));
  const top = made('tree', treeText([['40000', '.github', github.id]]));
  const commit = made('commit', commitText(top.id, [repository.main]));
  return { blob, workflows, github, top, commit };
}

function pushTo(id: string, pack: Buffer) {
  return () => sendPush(ground, repository, pushOf([[zeroId, id, 'refs/heads/sly']], pack));
}

/** The text of an object of the server, as the base of a delta. */
function contentOf(id: string, type: 'commit' | 'tree'): Promise<Buffer> {
  return repository.bare.bytes(['cat-file', type, id]);
}

describe('a workflow is found wherever the pack has it', () => {
  test('with its commit last', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const pack = packOf([blob, workflows, github, top, commit].map(({ part }) => part));
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('with its commit as a delta of another commit of the pack', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const base = made('commit', commitText(top.id, [repository.main], 'another'));
    const whole = literalDelta(base.part.content.length, commit.part.content);
    const parts = [blob, workflows, github, top, base].map(({ part }) => part);
    const pack = packOf([...parts, { code: 6, base: 4, content: whole }]);
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('with its commit as a delta that stands before its base', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const base = made('commit', commitText(top.id, [repository.main], 'another'));
    const whole = literalDelta(base.part.content.length, commit.part.content);
    const parts = [base, blob, workflows, github, top].map(({ part }) => part);
    const pack = packOf([{ code: 7, base: base.id, content: whole }, ...parts]);
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('with its commit as a delta of a commit that only the server has', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const base = await contentOf(repository.main, 'commit');
    const thin = literalDelta(base.length, commit.part.content);
    const parts = [blob, workflows, github, top].map(({ part }) => part);
    const pack = packOf([{ code: 7, base: repository.main, content: thin }, ...parts]);
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('with its directory as a delta of a directory that only the server has', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const id = await repository.bare.git('rev-parse', `${repository.main}:.github`);
    const base = await contentOf(id, 'tree');
    const thin = literalDelta(base.length, github.part.content);
    const parts = [blob, workflows, top, commit].map(({ part }) => part);
    const pack = packOf([...parts, { code: 7, base: id, content: thin }]);
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('with its directory under a mode that is written in another way', async () => {
    const { blob, workflows, github } = evil();
    const top = made('tree', treeText([['040000', '.github', github.id]]));
    const commit = made('commit', commitText(top.id, [repository.main]));
    const pack = packOf([blob, workflows, github, top, commit].map(({ part }) => part));
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });

  test('in a second commit of the pack that no ref of the push leads to', async () => {
    const { blob, workflows, github, top, commit } = evil();
    const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
    const innocent = made('commit', commitText(tree, [repository.main], 'innocent'));
    const pack = packOf([blob, workflows, github, top, commit, innocent].map(({ part }) => part));
    await expectStopped(ground, repository, 'push.protected-path', pushTo(innocent.id, pack));
  });

  test('in the other case of letters, where a server does not tell them apart', async () => {
    const { blob } = evil();
    const workflows = made('tree', treeText([['100644', 'CI.yml', blob.id]]));
    const github = made('tree', treeText([['40000', 'Workflows', workflows.id]]));
    const top = made('tree', treeText([['40000', '.GitHub', github.id]]));
    const commit = made('commit', commitText(top.id, [repository.main]));
    const pack = packOf([blob, workflows, github, top, commit].map(({ part }) => part));
    await expectStopped(ground, repository, 'push.protected-path', pushTo(commit.id, pack));
  });
});

describe('a pack that leaves out what only it could have is refused', () => {
  test('a delta on a base that nobody has', async () => {
    const { top, commit } = evil();
    const thin = literalDelta(100, top.part.content);
    const pack = packOf([{ code: 7, base: 'ab'.repeat(20), content: thin }, commit.part]);
    await expectStopped(ground, repository, 'push.undecided', pushTo(commit.id, pack));
  });

  test('a commit whose tree is nowhere', async () => {
    const commit = made('commit', commitText('ab'.repeat(20), [repository.main]));
    await expectStopped(ground, repository, 'push.undecided', pushTo(commit.id, packOf([commit.part])));
  });

  test('a commit whose parent is nowhere', async () => {
    const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
    const commit = made('commit', commitText(tree, ['ab'.repeat(20)]));
    await expectStopped(ground, repository, 'push.undecided', pushTo(commit.id, packOf([commit.part])));
  });

  test('a tree with one name twice', async () => {
    const { blob, workflows, github } = evil();
    const id = await repository.bare.git('rev-parse', `${repository.main}:.github`);
    const top = made(
      'tree',
      treeText([
        ['40000', '.github', id],
        ['40000', '.github', github.id],
      ]),
    );
    const commit = made('commit', commitText(top.id, [repository.main]));
    const pack = packOf([blob, workflows, github, top, commit].map(({ part }) => part));
    await expectStopped(ground, repository, 'git.malformed', pushTo(commit.id, pack));
  });
});

describe('honest packs of the same forms pass', () => {
  test('thin, with deltas on what the server has', async () => {
    const text = Array.from({ length: 500 }, (_, i) => `line ${i} of many\n`).join('');
    const { bare, main } = repository;
    const first = await bare.commit({ branch: 'feature', parents: [main], files: { 'src/long.txt': text } });
    const next = await bare.commit({ branch: 'refs/made/x', parents: [first], files: { 'src/long.txt': `${text}!` } });
    const pack = await honestPack(bare, [next], [first], '--thin');
    const whole = await honestPack(bare, [next], [first]);
    expect(pack.length).toBeLessThan(whole.length);
    await expectTaken(ground, () => sendPush(ground, repository, pushOf([[first, next, 'refs/heads/feature']], pack)));
  });

  test('with its commit last', async () => {
    const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
    const blob = made('blob', Buffer.from('x'));
    const commit = made('commit', commitText(tree, [repository.main]));
    const pack = packOf([{ ...blob.part, packed: deflateSync(blob.part.content, { level: 0 }) }, commit.part]);
    await expectTaken(ground, pushTo(commit.id, pack));
    expect(await repository.bare.tip('sly')).toBe(commit.id);
  });
});
