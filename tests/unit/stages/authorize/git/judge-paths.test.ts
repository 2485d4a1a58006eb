import { describe, expect, test } from 'vitest';
import { judgePaths } from '../../../../../src/stages/authorize/git/judge-paths.ts';
import type { PushFinding } from '../../../../../src/stages/authorize/git/push-finding.ts';
import { PushObjects } from '../../../../../src/stages/authorize/git/push-objects.ts';
import { findNewCommits } from '../../../../../src/stages/authorize/git/pushed-history.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { objectsOf, packOf } from '../../../protocols/git/objects/pack-builder.ts';
import { command, type Files, History, MemoryServer, workflow } from './git-push-ground.ts';

const policy = handMadePolicy({ protectedPaths: ['codeowners', '.github/workflows/**'] });

/** As judge-push.ts does it: the new commits, and what they change. */
async function judge(pack: Buffer, tip: string, server: MemoryServer): Promise<PushFinding[]> {
  const objects = await objectsOf(pack);
  const prefixes = ['refs/heads/work', 'refs/heads/main', 'refs/heads/master'];
  const history = await findNewCommits([command('refs/heads/work', tip)], objects, await server.refs(prefixes), server);
  return judgePaths(policy, new PushObjects(objects, server), history, server);
}

/** A server with `main` on one commit over a root, and no other branch. */
function ground(files: Files = { a: '1', [workflow]: 'old' }) {
  const history = new History();
  const base = history.commit([], files);
  const main = history.commit([base], files);
  const server = new MemoryServer(history, { 'refs/heads/main': main });
  server.name(base, 'base');
  const push = (tip: string): Promise<PushFinding[]> => judge(history.pack([tip], server), tip, server);
  return { history, base, main, server, push };
}

/** Which commits a list of findings is about, each once. */
const blamed = (findings: readonly PushFinding[]): Set<string> =>
  new Set(findings.map(({ message }) => /^commit ([0-9a-f]{12}) /.exec(message)![1]!));
const short = (...ids: string[]): Set<string> => new Set(ids.map((id) => id.slice(0, 12)));

describe('a commit that changes a protected path is found', () => {
  test('with the commit, the path, the rule and what to do', async () => {
    const { history, main, push } = ground();
    const tip = history.commit([main], { a: '1', [workflow]: 'new' });
    expect(await push(tip)).toEqual([
      {
        code: 'push.protected-path',
        ref: null,
        rule: 'policy.protected_paths[1]',
        message: `commit ${tip.slice(0, 12)} changes ${workflow}, which is protected`,
        reason: 'a commit of this push changes a protected path',
        hint: expect.stringContaining('an interactive rebase takes them out'),
      },
    ]);
  });

  test.each<[string, Files]>([
    ['changed', { a: '1', [workflow]: 'new' }],
    ['taken away', { a: '1' }],
    ['added', { a: '1', [workflow]: 'old', '.github/workflows/deep/x.yml': 'x' }],
    ['in other letters', { a: '1', [workflow]: 'old', '.GitHub/Workflows/x.yml': 'x' }],
    ['replaced by a link to another place', { a: '1', '.github/workflows': '-> ../elsewhere' }],
    ['the directory above it replaced by a link', { a: '1', '.github': '-> elsewhere' }],
    ['of another rule', { a: '1', [workflow]: 'old', CODEOWNERS: '* @me' }],
  ])('%s', async (_, files) => {
    const { history, main, push } = ground();
    const tip = history.commit([main], files);
    expect(blamed(await push(tip))).toEqual(short(tip));
  });

  test.each<[string, Files]>([
    ['another file', { a: '2', [workflow]: 'old' }],
    ['a file beside it', { a: '1', [workflow]: 'old', '.github/workflows.md': 'x' }],
    ['the same name elsewhere', { a: '1', [workflow]: 'old', [`src/${workflow}`]: 'x', 'src/CODEOWNERS': 'x' }],
    ['nothing at all', { a: '1', [workflow]: 'old' }],
  ])('and %s is not', async (_, files) => {
    const { history, main, push } = ground();
    expect(await push(history.commit([main], files))).toEqual([]);
  });

  test('in the middle of the push, though the tip has it as it was', async () => {
    const { history, main, push } = ground();
    const bad = history.commit([main], { a: '1', [workflow]: 'new' });
    const back = history.commit([bad], { a: '1', [workflow]: 'old' });
    expect(blamed(await push(history.commit([back], { a: '2', [workflow]: 'old' })))).toEqual(short(bad, back));
  });

  test('in a root commit: all that is in it is new', async () => {
    const { history, push } = ground();
    const root = history.commit([], { [workflow]: 'old' });
    expect(blamed(await push(root))).toEqual(short(root));
    expect(await push(history.commit([], { a: '1' }))).toEqual([]);
  });

  test('in a commit that no ref of the push reaches: stored unjudged, a later push could name it', async () => {
    const { history, main, server } = ground();
    const tip = history.commit([main], { a: '2', [workflow]: 'old' });
    const hidden = history.commit([main], { a: '3', [workflow]: 'new' });
    expect(blamed(await judge(history.pack([tip, hidden], server), tip, server))).toEqual(short(hidden));
  });
});

describe('a merge may take a protected path from a protected branch, and from nowhere else', () => {
  function merging() {
    const at = ground();
    const { history, base, main, server } = at;
    const newMain = history.commit([main], { a: '1', [workflow]: 'of main' });
    server.setRef('refs/heads/main', newMain);
    const own = history.commit([base], { a: 'own', [workflow]: 'old' });
    return { ...at, newMain, own };
  }

  test('from its tip, or from a commit below it', async () => {
    const { history, main, newMain, own, server, push } = merging();
    expect(await push(history.commit([own, newMain], { a: 'own', [workflow]: 'of main' }))).toEqual([]);
    const later = history.commit([newMain], { a: '2', [workflow]: 'of main' });
    server.setRef('refs/heads/main', later);
    server.name(newMain, 'below');
    server.asked.length = 0;
    expect(await push(history.commit([own, newMain], { a: 'own', [workflow]: 'of main' }))).toEqual([]);
    expect(server.asked).toContain('commits below not main');
    // And the other way round: main is merged into, and keeps what it has.
    expect(await push(history.commit([main, own], { a: 'own', [workflow]: 'old' }))).toEqual([]);
  });

  test('through commits of the push that build on it', async () => {
    const { history, newMain, own, push } = merging();
    const onTop = history.commit([newMain], { a: '3', [workflow]: 'of main' });
    expect(await push(history.commit([own, onTop], { a: 'own', [workflow]: 'of main' }))).toEqual([]);
  });

  test('not from a branch that is not protected', async () => {
    const { history, base, own, server, push } = merging();
    const feature = history.commit([base], { a: '1', [workflow]: 'of a feature' });
    server.setRef('refs/heads/feature', feature);
    const tip = history.commit([own, feature], { a: 'own', [workflow]: 'of a feature' });
    expect(blamed(await push(tip))).toEqual(short(tip));
    // As it was before, though taken from the same two parents, is no change of this commit either.
    expect(await push(history.commit([own, feature], { a: 'own', [workflow]: 'old' }))).toEqual([]);
  });

  test('not where there is no protected branch, and not from a root of the push itself', async () => {
    const { history, base, server } = ground();
    const lone = new MemoryServer(history, { 'refs/heads/work': base });
    const left = history.commit([base], { a: '2', [workflow]: 'old' });
    const root = history.commit([], { a: '1' });
    const tip = history.commit([left, root], { a: '2', [workflow]: 'old' });
    expect(blamed(await judge(history.pack([tip], lone), tip, lone))).toEqual(short(tip));
    expect(blamed(await judge(history.pack([tip], server), tip, server))).toEqual(new Set());
    const bare = history.commit([left, root], { a: '2' });
    expect(blamed(await judge(history.pack([bare], server), bare, server))).toEqual(short(bare));
  });

  test('a merge that makes something of its own of it is a change', async () => {
    const { history, newMain, own, push } = merging();
    const tip = history.commit([own, newMain], { a: 'own', [workflow]: 'of both' });
    expect(blamed(await push(tip))).toEqual(short(tip));
  });

  test('however many such merges there are, a change between them is found', async () => {
    const { history, base, newMain, server } = merging();
    const evil = history.commit([base], { a: '1', [workflow]: 'evil' });
    let tip = history.commit([evil, newMain], { a: '1', [workflow]: 'of main' });
    for (let n = 0; n < 300; n++) tip = history.commit([tip, base], { a: `${n}`, [workflow]: 'of main' });
    const pack = history.pack([tip], server);
    expect(blamed(await judge(pack, tip, server))).toContain(evil.slice(0, 12));
  });

  test('where there are more changes than are looked at, the push is not decided', async () => {
    const { history, base, newMain, server, own } = merging();
    const many: Record<string, string> = { a: 'own' };
    for (let n = 0; n < 10_001; n++) many[`.github/workflows/${n}.yml`] = 'x';
    const full = history.commit([newMain], many);
    server.setRef('refs/heads/main', full);
    const merge = history.commit([own, full], many);
    const evil = history.commit([base], { a: '1', [workflow]: 'evil' });
    const ids = [merge, evil].flatMap((id) => [...history.closure([id])].filter((each) => !server.holds(each)));
    const pack = packOf(history.partsOf([...new Set([merge, ...ids])]));
    await expect(judge(pack, merge, server)).rejects.toMatchObject({ name: 'GitWireError', code: 'too-large' });
  });
});

describe('what others have let in already is not held against the push', () => {
  test('commits of the pack that a branch or a tag of the server reaches', async () => {
    for (const ref of ['refs/heads/feature', 'refs/tags/v1']) {
      const { history, main, server } = ground();
      const old = history.commit([main], { a: '1', [workflow]: 'let in' });
      const older = history.commit([old], { a: '1', [workflow]: 'let in too' });
      server.setRef(ref, history.commit([older], { a: '1', [workflow]: 'let in too' }));
      const tip = history.commit([older], { a: '2', [workflow]: 'let in too' });
      // The client does not know that the server has these two.
      const pack = packOf(history.partsOf([...history.closure([tip])].filter((id) => id !== main)));
      expect(await judge(pack, tip, server), ref).toEqual([]);
      const bad = history.commit([older], { a: '2', [workflow]: 'own' });
      const badPack = packOf(history.partsOf(history.closure([bad])));
      expect(blamed(await judge(badPack, bad, server)), ref).toEqual(short(bad));
    }
  });

  test('but a commit that only the object store has, or refs/pull, is judged like a new one', async () => {
    for (const withRef of [false, true]) {
      const { history, main, server, push } = ground();
      const stray = history.commit([main], { a: '1', [workflow]: 'of a stranger' });
      server.hold(stray);
      if (withRef) server.setRef('refs/pull/7/head', stray);
      // Not in the pack at all, below a harmless commit, or sent along.
      expect(blamed(await push(stray))).toEqual(short(stray));
      const above = history.commit([stray], { a: '2', [workflow]: 'of a stranger' });
      expect(blamed(await push(above))).toEqual(short(stray));
      const sent = packOf(history.partsOf(history.closure([above])));
      expect(blamed(await judge(sent, above, server))).toEqual(short(stray));
    }
  });
});

describe('the server is asked for what is missing, once', () => {
  test('for a commit on top of main: its parent and the two top directories, and below only what differs', async () => {
    const { history, main, server, push } = ground({ a: '1', 'src/b': '1', [workflow]: 'old' });
    await push(history.commit([main], { a: '2', 'src/b': '1', [workflow]: 'old' }));
    const refs = 'refs refs/heads/work refs/heads/main refs/heads/master';
    expect(server.asked).toEqual([refs, 'objects main', 'objects tree']);
    server.asked.length = 0;
    await push(history.commit([main], { a: '1', 'src/b': '2', [workflow]: 'old' }));
    expect(server.asked).toEqual([refs, 'objects main', 'objects tree']);
    server.asked.length = 0;
    await push(history.commit([main], { a: '1', 'src/b': '1', [workflow]: 'old', '.github/x': 'x' }));
    expect(server.asked).toEqual([refs, 'objects main', 'objects tree', 'objects tree']);
  });

  test('a hundred commits cost as many questions as one', async () => {
    const { history, main, server, push } = ground();
    let tip = main;
    for (let n = 0; n < 100; n++) tip = history.commit([tip], { a: `${n}`, [workflow]: 'old' });
    await push(tip);
    expect(server.asked.length).toBe(3);
  });

  test('a parent that is no commit, or a directory that is none, is not read as one', async () => {
    const { history, server, main } = ground();
    const tree = history.tree({ a: 'x' });
    server.hold(tree);
    const tip = history.add(
      'commit',
      Buffer.from(`tree ${tree}\nparent ${tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n\n`),
    );
    await expect(judge(packOf(history.partsOf([tip])), tip, server)).rejects.toMatchObject({ code: 'malformed' });
    const blob = history.blob('not a tree');
    server.hold(blob);
    const odd = history.add(
      'commit',
      Buffer.from(`tree ${blob}\nparent ${main}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n\n`),
    );
    await expect(judge(packOf(history.partsOf([odd])), odd, server)).rejects.toMatchObject({ code: 'malformed' });
  });

  test('what the server does not have ends the judgement, never in a pass', async () => {
    const { history, server } = ground();
    const nowhere = history.commit([], { a: 'x' });
    const tip = history.commit([nowhere], { a: 'x' });
    const pack = packOf(history.partsOf([tip, history.commitAt(tip).tree]));
    await expect(judge(pack, tip, server)).rejects.toMatchObject({ name: 'GitRemoteError' });
  });
});
