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

let strict: PushGround;
let free: PushGround;
let repository: TestRepository;
let clone: GitFolder;

beforeAll(async () => {
  strict = await openPushGround();
  free = await openPushGround({ config: { policy: { allow_branch_deletion: true } } });
});

afterAll(async () => {
  await strict.stop();
  await free.stop();
});

async function prepare(ground: PushGround): Promise<void> {
  repository = await ground.repository();
  await repository.bare.commit({ branch: 'feature', parents: [repository.main], files: { f: '0\n' } });
  clone = await ground.sandbox.clone(repository.url);
}

describe('no branch is deleted', () => {
  beforeEach(() => prepare(strict));

  test.each([
    ['--delete', ['--delete', 'origin', 'feature']],
    ['an empty refspec', ['origin', ':feature']],
    ['--prune', ['--prune', 'origin', 'refs/heads/main:refs/heads/main', 'refs/heads/f*:refs/heads/f*']],
  ])('by %s', async (_how, args) => {
    const run = await expectRefused(strict, repository, 'push.deletion', () => clone.run(['push', ...args]));
    expect(Object.keys(rejected(run))).toEqual(['feature']);
    expect(remoteWords(run)).toContain('policy.allow_branch_deletion');
  });

  test('by a rename, and then the new name is not made either', async () => {
    const run = await expectRefused(strict, repository, 'push.deletion', () =>
      clone.run(['push', 'origin', ':feature', 'origin/feature:refs/heads/renamed']),
    );
    expect(Object.keys(rejected(run)).sort()).toEqual(['feature', 'renamed']);
    expect(rejected(run).renamed).toContain('another ref of this push was refused');
  });

  test('by a mirror of a clone that has none of them', async () => {
    const empty = await strict.sandbox.init(repository.url);
    await empty.commit({ branch: 'mine', files: { m: 'm\n' } });
    const run = await expectRefused(strict, repository, 'push.deletion', () =>
      empty.run(['push', '--mirror', 'origin']),
    );
    expect(Object.keys(rejected(run)).sort()).toEqual(['feature', 'main', 'mine']);
  });
});

describe('a mirror', () => {
  test('of a clone with all of it brings names that are not for sandboxes', async () => {
    await prepare(strict);
    await clone.git('branch', '--quiet', 'feature', 'origin/feature');
    const run = await expectRefused(strict, repository, 'push.namespace', () =>
      clone.run(['push', '--mirror', 'origin']),
    );
    expect(Object.keys(rejected(run))).toContain('origin/main');
  });
});

describe('where the operator allows it, a branch is deleted', () => {
  beforeEach(() => prepare(free));

  test('alone', async () => {
    await expectPushed(free, () => clone.run(['push', '--delete', 'origin', 'feature']));
    expect(Object.keys(await repository.bare.refs())).toEqual(['refs/heads/main']);
  });

  test('and made under another name', async () => {
    const tip = await repository.bare.tip('feature');
    await expectPushed(free, () => clone.run(['push', 'origin', ':feature', 'origin/feature:refs/heads/renamed']));
    expect(await repository.bare.refs()).toEqual({ 'refs/heads/main': repository.main, 'refs/heads/renamed': tip });
  });

  test('but no protected one', async () => {
    const run = await expectRefused(free, repository, 'push.protected-branch', () =>
      clone.run(['push', '--delete', 'origin', 'main']),
    );
    expect(Object.keys(rejected(run))).toEqual(['main']);
  });

  test('and no tag', async () => {
    await repository.bare.git('tag', 'v1', 'main');
    const run = await expectRefused(free, repository, 'push.tag-moved', () =>
      clone.run(['push', '--delete', 'origin', 'v1']),
    );
    expect(Object.keys(rejected(run))).toEqual(['v1']);
  });

  test('and none whose name another person has moved meanwhile', async () => {
    await repository.bare.commit({ branch: 'feature', files: { f: 'theirs\n' } });
    const before = await repository.bare.refs();
    const run = await clone.run(['push', '--force-with-lease', 'origin', ':feature']);
    expect(run.stderr).toContain('stale info');
    expect(await repository.bare.refs()).toEqual(before);
  });
});
