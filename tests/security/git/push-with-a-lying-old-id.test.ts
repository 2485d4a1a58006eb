// What a push says about the old place of a ref is a claim, and the gateway judges by it. That holds because the server
// moves a ref only from the place that was claimed: a lie is judged as harmless and gets nowhere. Tried with real git.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import {
  type Command,
  expectStopped,
  expectTaken,
  honestPack,
  pushOf,
  sendPush,
  zeroId,
} from '../../support/raw-push.ts';

const plain = 'report-status side-band-64k agent=git/2.39.5';
const atomic = `${plain} atomic`;
let ground: PushGround;
let repository: TestRepository;
/** The true tip of `feature`, a commit beside it, and one for another branch. */
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
  await bare.git('update-ref', 'refs/tags/v1', main);
});

async function push(commands: readonly Command[], capabilities = plain): Promise<RawAnswer> {
  const pack = await honestPack(repository.bare, [beside, other], [repository.main]);
  return sendPush(ground, repository, pushOf(commands, pack, capabilities));
}

describe('a lie about where a ref is moves nothing', () => {
  test('the parent of the new commit as the old id, beside an honest ref', async () => {
    const answer = await push([
      [zeroId, other, 'refs/heads/other'],
      [repository.main, beside, 'refs/heads/feature'],
    ]);
    expect(answer.text).toContain('ng refs/heads/feature ');
    expect(await repository.bare.refs()).toMatchObject({ 'refs/heads/feature': tip, 'refs/heads/other': other });
  });

  test('the same at once with the honest ref, which then stays away too', async () => {
    const commands: Command[] = [
      [zeroId, other, 'refs/heads/other'],
      [repository.main, beside, 'refs/heads/feature'],
    ];
    const answer = await push(commands, atomic);
    expect(answer.text).toContain('ng refs/heads/feature ');
    expect(await repository.bare.tip('feature')).toBe(tip);
    expect(await repository.bare.tip('other')).toBeNull();
  });

  test.each(['refs/heads/feature', 'refs/tags/v1'])('%s is there, and is not made as if it were new', async (ref) => {
    const before = await repository.bare.refs();
    const answer = await push([[zeroId, beside, ref]]);
    expect(answer.text).toContain(`ng ${ref} `);
    expect(await repository.bare.refs()).toEqual(before);
  });

  test('the truth about the same move is refused here', async () => {
    const pack = await honestPack(repository.bare, [beside], [repository.main]);
    const body = pushOf([[tip, beside, 'refs/heads/feature']], pack);
    await expectStopped(ground, repository, 'push.force', () => sendPush(ground, repository, body));
  });

  test('an old id that nobody has is no ancestor of anything', async () => {
    const pack = await honestPack(repository.bare, [beside], [repository.main]);
    const body = pushOf([['ab'.repeat(20), beside, 'refs/heads/feature']], pack);
    await expectStopped(ground, repository, 'push.force', () => sendPush(ground, repository, body));
  });

  test('an honest move passes, so that the refusals above mean something', async () => {
    const next = await repository.bare.commit({ branch: 'refs/made/next', parents: [tip], files: { f: '2\n' } });
    const pack = await honestPack(repository.bare, [next], [tip]);
    await expectTaken(ground, () => sendPush(ground, repository, pushOf([[tip, next, 'refs/heads/feature']], pack)));
  });
});
