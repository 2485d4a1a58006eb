import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rejected, remoteWords } from '../support/git-sandbox.ts';
import { expectPushed, expectRefused, openPushGround, type PushGround } from '../support/push-ground.ts';

let ground: PushGround;

beforeAll(async () => {
  ground = await openPushGround({
    registration: { auth_mode: 'bot', allowed_branches: ['sandbox/*', 'bot/**', 'refs/tags/nightly-*'] },
  });
});

afterAll(() => ground.stop());

describe('a bot pushes to the branches it was given', () => {
  test('a new branch, and then more on it', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const first = await clone.commit({ branch: 'sandbox/one', parents: [repository.main], files: { a: 'a\n' } });
    const run = await expectPushed(ground, () => clone.run(['push', 'origin', 'sandbox/one']));
    expect(run.stderr).toContain('[new branch]');
    expect(await repository.bare.tip('sandbox/one')).toBe(first);
    await clone.commit({ branch: 'sandbox/one', files: { a: 'b\n' } });
    const second = await clone.commit({ branch: 'sandbox/one', files: { b: 'b\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'sandbox/one']));
    expect(await repository.bare.tip('sandbox/one')).toBe(second);
    await repository.bare.git('fsck', '--strict');
  });

  test('from a local branch of any name, and below a pattern that crosses slashes', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const tip = await clone.commit({ branch: 'main', files: { a: 'a\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'main:bot/a/b/c', 'main:sandbox/main']));
    expect(await repository.bare.refs()).toMatchObject({
      'refs/heads/main': repository.main,
      'refs/heads/bot/a/b/c': tip,
      'refs/heads/sandbox/main': tip,
    });
  });

  test('a tag that a pattern names, and no other', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.git('tag', 'nightly-1');
    await clone.git('tag', 'v1');
    await expectPushed(ground, () => clone.run(['push', 'origin', 'nightly-1']));
    expect(await repository.bare.tip('refs/tags/nightly-1')).toBe(repository.main);
    const run = await expectRefused(ground, repository, 'push.branch-not-allowed', () =>
      clone.run(['push', 'origin', 'v1']),
    );
    expect(Object.keys(rejected(run))).toEqual(['v1']);
  });
});

describe('a bot pushes nowhere else, and is told where it may', () => {
  test.each(['feature', 'sandbox', 'sandbox/a/b', 'Sandbox/x', 'not-sandbox/x', 'feature/sandbox/x'])(
    'to the branch %s',
    async (branch) => {
      const repository = await ground.repository();
      const clone = await ground.sandbox.clone(repository.url);
      await clone.commit({ branch: 'work', parents: [repository.main], files: { a: 'a\n' } });
      const run = await expectRefused(ground, repository, 'push.branch-not-allowed', () =>
        clone.run(['push', 'origin', `work:refs/heads/${branch}`]),
      );
      expect(Object.keys(rejected(run))).toEqual([branch]);
      expect(remoteWords(run)).toContain('sandbox/*');
    },
  );

  test('to a protected branch, though the commit is an honest one', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'main', files: { a: 'a\n' } });
    const run = await expectRefused(ground, repository, 'push.protected-branch', () =>
      clone.run(['push', 'origin', 'main']),
    );
    expect(Object.keys(rejected(run))).toEqual(['main']);
    expect(remoteWords(run)).toContain('policy.protected_branches');
  });
});
