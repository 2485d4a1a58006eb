// A server holds more than its branches reach: commits of forks, of closed pull requests, of branches that are gone. Such
// a commit is nobody's, and a push that leans on it brings its content in without ever sending it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

const workflow = '.github/workflows/ci.yml';
let ground: PushGround;
let repository: TestRepository;
let impostor: string;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
  impostor = await stray({ [workflow]: 'on: evil\n' });
});

/** A commit that is in the server's store and that no ref leads to. */
async function stray(files: Record<string, string>, parents = [repository.main]): Promise<string> {
  const { bare } = repository;
  const id = await bare.commit({ branch: 'refs/made/stray', parents, files });
  await bare.git('update-ref', '-d', 'refs/made/stray');
  return id;
}

const emptyPack = () => honestPack(repository.bare, []);

describe('what no branch or tag of the server has is judged like what is sent', () => {
  test('as the tip of a new branch', async () => {
    const body = pushOf([[zeroId, impostor, 'refs/heads/sly']], await emptyPack());
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('as the new tip of a branch that is there', async () => {
    const { bare, main } = repository;
    await bare.git('update-ref', 'refs/heads/feature', main);
    const body = pushOf([[main, impostor, 'refs/heads/feature']], await emptyPack());
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('as the target of a tag', async () => {
    const body = pushOf([[zeroId, impostor, 'refs/tags/sly']], await emptyPack());
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('as the parent of an innocent commit', async () => {
    const innocent = await stray({ 'src/other.txt': 'innocent\n' }, [impostor]);
    const pack = await honestPack(repository.bare, [innocent], [impostor]);
    const body = pushOf([[zeroId, innocent, 'refs/heads/sly']], pack);
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('as a parent of a merge that takes its files', async () => {
    const merge = await stray({ [workflow]: 'on: evil\n' }, [repository.main, impostor]);
    const pack = await honestPack(repository.bare, [merge], [impostor, repository.main]);
    const body = pushOf([[zeroId, merge, 'refs/heads/sly']], pack);
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('with a chain of them below an innocent one', async () => {
    let below = impostor;
    for (let i = 0; i < 5; i++) below = await stray({ 'src/n': `${i}\n` }, [below]);
    const undone = await stray({ [workflow]: 'on: push\n' }, [below]);
    const body = pushOf([[zeroId, undone, 'refs/heads/sly']], await emptyPack());
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('sent along in the pack although the server has it', async () => {
    const innocent = await stray({ 'src/other.txt': 'innocent\n' }, [impostor]);
    const pack = await honestPack(repository.bare, [innocent], [repository.main]);
    const body = pushOf([[zeroId, innocent, 'refs/heads/sly']], pack);
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('sent along in the pack among commits that a branch has', async () => {
    const { bare } = repository;
    const next = await bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    const merge = await stray({ 'src/other.txt': 'innocent\n' }, [next, impostor]);
    const pack = await honestPack(bare, [merge]);
    const body = pushOf([[zeroId, merge, 'refs/heads/sly']], pack);
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('though refs/pull leads to it, which anybody can make', async () => {
    await repository.bare.git('update-ref', 'refs/pull/7/head', impostor);
    const body = pushOf([[zeroId, impostor, 'refs/heads/sly']], await emptyPack());
    await expectStopped(ground, repository, 'push.protected-path', () => sendPush(ground, repository, body));
  });

  test('as the way by which a rewrite looks like an addition', async () => {
    const { bare, main } = repository;
    const tip = await bare.commit({ branch: 'feature', parents: [main], files: { f: '1\n' } });
    const beside = await stray({ f: 'x\n' });
    const body = pushOf([[tip, beside, 'refs/heads/feature']], await emptyPack());
    await expectStopped(ground, repository, 'push.force', () => sendPush(ground, repository, body));
  });

  test('a commit that the server does not have at all', async () => {
    const body = pushOf([[zeroId, 'ab'.repeat(20), 'refs/heads/sly']], await emptyPack());
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('a stray commit that changes nothing protected passes', async () => {
    const innocent = await stray({ 'src/other.txt': 'innocent\n' });
    const body = pushOf([[zeroId, innocent, 'refs/heads/fine']], await emptyPack());
    await expectTaken(ground, () => sendPush(ground, repository, body));
    expect(await repository.bare.tip('fine')).toBe(innocent);
  });
});
