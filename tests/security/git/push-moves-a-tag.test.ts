// A tag is what releases are built from: moved or deleted, it says something else than when people looked at it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

let ground: PushGround;
let repository: TestRepository;
let next: string;
let pack: Buffer;

beforeAll(async () => {
  // Neither of the two settings is about tags.
  ground = await openPushGround({ config: { policy: { allow_force_push: true, allow_branch_deletion: true } } });
  repository = await ground.repository();
  const { bare, main } = repository;
  await bare.git('update-ref', 'refs/tags/v1', main);
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  pack = await honestPack(bare, [next], [main]);
});

afterAll(() => ground.stop());

describe('a tag stays where it is', () => {
  test('it is not moved forwards', async () => {
    const body = pushOf([[repository.main, next, 'refs/tags/v1']], pack);
    await expectStopped(ground, repository, 'push.tag-moved', () => sendPush(ground, repository, body));
  });

  test('it is not deleted', async () => {
    const body = pushOf([[repository.main, zeroId, 'refs/tags/v1']], Buffer.alloc(0));
    await expectStopped(ground, repository, 'push.tag-moved', () => sendPush(ground, repository, body));
  });

  test('it is not deleted and made again in one push', async () => {
    const commands = [
      [repository.main, zeroId, 'refs/tags/v1'],
      [zeroId, next, 'refs/tags/v1'],
    ] as const;
    await expectStopped(ground, repository, 'git.malformed', () =>
      sendPush(ground, repository, pushOf(commands, pack)),
    );
  });

  test('a new one is made, so that the refusals above mean something', async () => {
    await expectTaken(ground, () => sendPush(ground, repository, pushOf([[zeroId, next, 'refs/tags/v2']], pack)));
    expect(await repository.bare.tip('refs/tags/v2')).toBe(next);
  });
});
