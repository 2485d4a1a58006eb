// `main` is protected whatever it is called on the way: in other letters, under another path, through an alias.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

let ground: PushGround;
let repository: TestRepository;
let next: string;
let pack: Buffer;

beforeAll(async () => {
  ground = await openPushGround({ config: { policy: { allow_force_push: true, allow_branch_deletion: true } } });
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
  const { bare, main } = repository;
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  pack = await honestPack(bare, [next], [main]);
});

describe('a protected branch has one name', () => {
  test.each(['main', 'MAIN', 'Main', 'mAiN', 'master', 'Master'])('refs/heads/%s', async (branch) => {
    const body = pushOf([[branch === 'main' ? repository.main : zeroId, next, `refs/heads/${branch}`]], pack);
    await expectStopped(ground, repository, 'push.protected-branch', () => sendPush(ground, repository, body));
  });

  test.each(['/Acme/R{n}', '/ACME/R{n}.GIT', '/acme/r{n}'])('in a repository that is called %s', async (path) => {
    const number = /\d+$/.exec(repository.name)![0];
    const body = pushOf([[repository.main, next, 'refs/heads/main']], pack);
    await expectStopped(ground, repository, 'push.protected-branch', () =>
      sendPush(ground, repository, body, { target: `${path.replace('{n}', number)}/git-receive-pack` }),
    );
  });

  test('through another branch of the server that is only another name for it', async () => {
    await repository.bare.git('symbolic-ref', 'refs/heads/trunk', 'refs/heads/main');
    const body = pushOf([[repository.main, next, 'refs/heads/trunk']], pack);
    await expectStopped(ground, repository, 'push.protected-branch', () => sendPush(ground, repository, body));
  });

  test('by deleting it', async () => {
    const body = pushOf([[repository.main, zeroId, 'refs/heads/main']], Buffer.alloc(0));
    await expectStopped(ground, repository, 'push.protected-branch', () => sendPush(ground, repository, body));
  });

  test('what only has its name in it is another branch, and passes', async () => {
    const names = ['maintenance', 'feature/main', 'not-main'];
    const body = pushOf(
      names.map((name) => [zeroId, next, `refs/heads/${name}`] as const),
      pack,
    );
    await expectTaken(ground, () => sendPush(ground, repository, body));
    for (const name of names) expect(await repository.bare.tip(name)).toBe(next);
  });
});
