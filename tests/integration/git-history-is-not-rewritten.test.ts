import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { rejected, remoteWords } from '../support/git-sandbox.ts';
import {
  expectPushed,
  expectRefused,
  openPushGround,
  type PushGround,
  type TestRepository,
} from '../support/push-ground.ts';

let ground: PushGround;
let repository: TestRepository;
let clone: GitFolder;
/** Three commits of a branch `feature` that is on the server, the oldest first. */
let feature: string[];

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
  feature = [await repository.bare.commit({ branch: 'feature', parents: [repository.main], files: { f: '0\n' } })];
  for (const f of ['1\n', '2\n']) feature.push(await repository.bare.commit({ branch: 'feature', files: { f } }));
  clone = await ground.sandbox.clone(repository.url);
});

async function expectNoForce(...args: string[]): Promise<void> {
  const run = await expectRefused(ground, repository, 'push.force', () => clone.run(['push', ...args]));
  expect(Object.keys(rejected(run))).toEqual(['feature']);
  expect(remoteWords(run)).toContain('policy.allow_force_push');
}

describe('a push only adds to a branch, however it is asked for', () => {
  test('an older commit of the same branch is refused', () =>
    expectNoForce('--force', 'origin', `${feature[0]}:feature`));

  test('the same by +refspec', () => expectNoForce('origin', `+${feature[1]}:refs/heads/feature`));

  test('the base of the branch is refused, though it is on main', () =>
    expectNoForce('--force', 'origin', `${repository.main}:refs/heads/feature`));

  test('the last commit written anew is refused', async () => {
    await clone.commit({ branch: 'feature', parents: [feature[1]!], files: { f: 'other\n' } });
    await expectNoForce('--force', 'origin', 'feature');
  });

  test('a lease does not make it less of a rewrite', async () => {
    await clone.commit({ branch: 'feature', parents: [feature[1]!], files: { f: 'other\n' } });
    await expectNoForce('--force-with-lease', 'origin', 'feature');
  });

  test('a setting of the clone does not, either', async () => {
    await clone.commit({ branch: 'feature', parents: [repository.main], files: { f: 'other\n' } });
    await clone.git('config', 'remote.origin.push', '+refs/heads/feature:refs/heads/feature');
    await expectNoForce('origin');
  });

  test('unrelated history in the place of a branch is refused', async () => {
    await clone.commit({ branch: 'feature', parents: [], files: { g: 'g\n' } });
    await expectNoForce('--force', 'origin', 'feature');
  });

  test('a merge whose parents are all older than the branch is refused', async () => {
    const side = await clone.commit({ branch: 'side', parents: [feature[0]!], files: { s: 's\n' } });
    await clone.commit({ branch: 'feature', parents: [side, feature[1]!], files: { f: '1\n' } });
    await expectNoForce('--force', 'origin', 'feature');
  });
});

describe.each(['team/feature', 'a/b/c/d'])('a branch in a folder (%s) is a branch', (branch) => {
  beforeEach(async () => {
    await repository.bare.git('update-ref', `refs/heads/${branch}`, feature[2]!);
    await clone.git('fetch', '--quiet');
  });

  test('and is not rewritten', async () => {
    await clone.commit({ branch, parents: [feature[1]!], files: { f: 'other\n' } });
    const run = await expectRefused(ground, repository, 'push.force', () =>
      clone.run(['push', '--force', 'origin', branch]),
    );
    expect(Object.keys(rejected(run))).toEqual([branch]);
    expect(await repository.bare.tip(branch)).toBe(feature[2]);
  });

  test('and is added to', async () => {
    const tip = await clone.commit({ branch, parents: [feature[2]!], files: { f: '3\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', branch]));
    expect(await repository.bare.tip(branch)).toBe(tip);
  });
});

describe('what is no rewrite passes, whatever it is called', () => {
  test('--force of a commit that only adds', async () => {
    const tip = await clone.commit({ branch: 'feature', parents: [feature[2]!], files: { f: '3\n' } });
    await expectPushed(ground, () => clone.run(['push', '--force', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
  });

  test('--force-with-lease of a commit that only adds', async () => {
    const tip = await clone.commit({ branch: 'feature', parents: [feature[2]!], files: { f: '3\n' } });
    await expectPushed(ground, () => clone.run(['push', '--force-with-lease', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
  });

  test('a merge that has the branch as its second parent', async () => {
    const side = await clone.commit({ branch: 'side', parents: [repository.main], files: { s: 's\n' } });
    const merge = await clone.commit({ branch: 'feature', parents: [side, feature[2]!], files: { f: '2\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(merge);
  });

  test('commits that are on the server under another branch', async () => {
    const next = await repository.bare.commit({ branch: 'ahead', parents: [feature[2]!], files: { f: '3\n' } });
    const tip = await repository.bare.commit({ branch: 'ahead', files: { f: '4\n' } });
    await clone.git('fetch', '--quiet');
    await expectPushed(ground, () => clone.run(['push', 'origin', 'origin/ahead:feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
    expect(await repository.bare.git('rev-list', 'feature')).toContain(next);
  });

  test('a new commit on top of commits that are on the server under another branch', async () => {
    await repository.bare.commit({ branch: 'ahead', parents: [feature[2]!], files: { f: '3\n' } });
    const ahead = await repository.bare.commit({ branch: 'ahead', files: { f: '4\n' } });
    await clone.git('fetch', '--quiet');
    const tip = await clone.commit({ branch: 'feature', parents: [ahead], files: { f: '5\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
  });

  test('a new branch with a history of its own', async () => {
    await clone.commit({ branch: 'unrelated', parents: [], files: { g: 'g\n' } });
    const tip = await clone.commit({ branch: 'unrelated', files: { g: 'h\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'unrelated']));
    expect(await repository.bare.tip('unrelated')).toBe(tip);
  });

  test('a new branch at an old commit', async () => {
    await expectPushed(ground, () => clone.run(['push', 'origin', `${feature[0]}:refs/heads/again`]));
    expect(await repository.bare.tip('again')).toBe(feature[0]);
  });
});

describe('where the operator allows it, history is rewritten', () => {
  let free: PushGround;

  beforeAll(async () => {
    free = await openPushGround({ config: { policy: { allow_force_push: true } } });
  });

  afterAll(() => free.stop());

  test('on a branch that is not protected', async () => {
    const own = await free.repository();
    await own.bare.commit({ branch: 'feature', parents: [own.main], files: { f: '0\n' } });
    const work = await free.sandbox.clone(own.url);
    await expectPushed(free, () => work.run(['push', '--force', 'origin', 'main:feature']));
    expect(await own.bare.tip('feature')).toBe(own.main);
  });

  test('but not on a protected one', async () => {
    const own = await free.repository();
    const work = await free.sandbox.clone(own.url);
    await work.commit({ branch: 'main', parents: [], files: { f: '0\n' } });
    const run = await expectRefused(free, own, 'push.protected-branch', () =>
      work.run(['push', '--force', 'origin', 'main']),
    );
    expect(Object.keys(rejected(run))).toEqual(['main']);
  });
});
