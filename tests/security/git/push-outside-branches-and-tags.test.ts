// A server keeps more than branches and tags under refs/: notes, pull requests, replacements, settings. What is written
// there changes how the rest is read, and nobody looks at it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

let ground: PushGround;
let repository: TestRepository;
let next: string;
let pack: Buffer;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const { bare, main } = repository;
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  pack = await honestPack(bare, [next], [main]);
});

afterAll(() => ground.stop());

describe('only branches and tags are pushed', () => {
  test.each([
    'refs/pull/1/head',
    'refs/pull/1/merge',
    'refs/notes/commits',
    'refs/replace/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    'refs/remotes/origin/main',
    'refs/stash',
    'refs/meta/config',
    'refs/for/main',
    'refs/changes/01/1/1',
    'refs/merge-requests/1/head',
    'refs/keep-around/x',
    'refs/bisect/bad',
    'refs/head/main',
    'refs/Heads/main',
    'refs/heads',
    'refs/tagsx/v1',
    'refs/namespaces/x/refs/heads/main',
  ])('not %s', async (ref) => {
    const body = pushOf([[zeroId, next, ref]], pack);
    const answer = await expectStopped(ground, repository, 'push.namespace', () => sendPush(ground, repository, body));
    expect(answer.text).toContain(`ng ${ref} `);
  });

  test('nor beside a branch that could be', async () => {
    const body = pushOf(
      [
        [zeroId, next, 'refs/heads/fine'],
        [zeroId, next, 'refs/notes/commits'],
      ],
      pack,
    );
    const answer = await expectStopped(ground, repository, 'push.namespace', () => sendPush(ground, repository, body));
    expect(answer.text).toContain('ng refs/heads/fine ');
    expect(answer.text).toContain('ng refs/notes/commits ');
  });

  test('nor is one of them deleted', async () => {
    await repository.bare.git('update-ref', 'refs/pull/9/head', repository.main);
    const body = pushOf([[repository.main, zeroId, 'refs/pull/9/head']], Buffer.alloc(0));
    await expectStopped(ground, repository, 'push.namespace', () => sendPush(ground, repository, body));
  });

  test.each(['blob', 'tree', 'tag'])('and a branch is never a %s', async (type) => {
    const { bare, main } = repository;
    await bare.run(['tag', '-a', '-m', 'words', 'words', main]);
    const id = await bare.git('rev-parse', { blob: 'main:README.md', tree: 'main^{tree}', tag: 'words' }[type]!);
    const body = pushOf(
      [[zeroId, id, 'refs/heads/odd']],
      await bare.bytes(['pack-objects', '--stdout', '-q'], `${id}\n`),
    );
    await expectStopped(ground, repository, 'push.namespace', () => sendPush(ground, repository, body));
  });

  test.each(['blob', 'tree', 'tag'])('nor a %s that is on the server already', async (type) => {
    const { bare, main } = repository;
    await bare.run(['tag', '-a', '-m', 'words', 'words', main]);
    const id = await bare.git('rev-parse', { blob: 'main:README.md', tree: 'main^{tree}', tag: 'words' }[type]!);
    const body = pushOf([[zeroId, id, 'refs/heads/odd']], await honestPack(bare, []));
    await expectStopped(ground, repository, 'push.namespace', () => sendPush(ground, repository, body));
  });
});
