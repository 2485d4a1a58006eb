// What a push says about the old place of a ref is a claim. A server that checks it late, or not at all for one of
// several refs, would rewrite a branch that was judged as if it were elsewhere.
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../support/raw-push.ts';

const atomic = 'report-status side-band-64k atomic agent=git/2.39.5';
const plain = 'report-status side-band-64k agent=git/2.39.5';
let ground: PushGround;
let repository: TestRepository;
/** The true tip of `feature`, and a commit beside it. */
let tip: string;
let beside: string;
let other: string;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
  const { bare, main } = repository;
  tip = await bare.commit({ branch: 'feature', parents: [main], files: { f: '1\n' } });
  beside = await bare.commit({ branch: 'refs/made/beside', parents: [main], files: { f: 'x\n' } });
  other = await bare.commit({ branch: 'refs/made/other', parents: [main], files: { o: 'o\n' } });
});

describe('a branch is judged from where it is, not from where a push says it is', () => {
  test.each([
    ['two refs', plain],
    ['two refs at once', atomic],
  ])('the parent of the new commit as the old id, in a push of %s', async (_what, capabilities) => {
    const pack = await honestPack(repository.bare, [beside, other], [repository.main]);
    const body = pushOf(
      [
        [zeroId, other, 'refs/heads/other'],
        [repository.main, beside, 'refs/heads/feature'],
      ],
      pack,
      capabilities,
    );
    await expectStopped(ground, repository, 'push.stale', () => sendPush(ground, repository, body));
  });

  test('a branch that is there, as if it were new', async () => {
    const pack = await honestPack(repository.bare, [beside], [repository.main]);
    const body = pushOf([[zeroId, beside, 'refs/heads/feature']], pack);
    await expectStopped(ground, repository, 'push.stale', () => sendPush(ground, repository, body));
  });

  test('a tag that is there, as if it were new', async () => {
    await repository.bare.git('update-ref', 'refs/tags/v1', repository.main);
    const pack = await honestPack(repository.bare, [beside], [repository.main]);
    const body = pushOf([[zeroId, beside, 'refs/tags/v1']], pack);
    await expectStopped(ground, repository, 'push.stale', () => sendPush(ground, repository, body));
  });

  test('the true old id passes, so that the refusals above mean something', async () => {
    const next = await repository.bare.commit({ branch: 'refs/made/next', parents: [tip], files: { f: '2\n' } });
    const pack = await honestPack(repository.bare, [next], [tip]);
    await expectTaken(ground, () => sendPush(ground, repository, pushOf([[tip, next, 'refs/heads/feature']], pack)));
  });
});
