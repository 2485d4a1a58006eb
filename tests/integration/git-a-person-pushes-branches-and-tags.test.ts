import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

beforeAll(async () => {
  ground = await openPushGround({ config: { policy: { protected_branches: ['main', 'release/*'] } } });
  repository = await ground.repository();
  await repository.bare.git('tag', 'v1', 'main');
  clone = await ground.sandbox.clone(repository.url);
});

afterAll(() => ground.stop());

describe('in user mode a sandbox pushes to any branch that is not protected', () => {
  test.each(['feature', 'deep/er/feature', 'mainline', 'releases', 'release/a/b'])('to %s', async (branch) => {
    const tip = await clone.commit({ branch, parents: [repository.main], files: { [branch]: 'new\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', branch]));
    expect(await repository.bare.tip(branch)).toBe(tip);
  });

  test.each(['main', 'release/1'])('but not to %s', async (branch) => {
    await clone.commit({ branch: 'work', parents: [repository.main], files: { a: 'a\n' } });
    const run = await expectRefused(ground, repository, 'push.protected-branch', () =>
      clone.run(['push', 'origin', `work:refs/heads/${branch}`]),
    );
    expect(Object.keys(rejected(run))).toEqual([branch]);
    expect(remoteWords(run)).toContain('policy.protected_branches');
  });
});

describe('tags are made and never moved', () => {
  test('a light one, one with words of its own, and the commits that come with them', async () => {
    const tip = await clone.commit({ branch: 'tagged', parents: [repository.main], files: { t: 't\n' } });
    await clone.git('tag', 'light', tip);
    await clone.git('tag', '--annotate', '--message=words', 'annotated', tip);
    await expectPushed(ground, () => clone.run(['push', 'origin', 'light', 'annotated']));
    expect(await repository.bare.tip('refs/tags/light')).toBe(tip);
    expect(await repository.bare.git('rev-parse', 'annotated^{commit}')).toBe(tip);
    expect(await repository.bare.git('cat-file', '-t', 'annotated')).toBe('tag');
  });

  test('together with a branch', async () => {
    const tip = await clone.commit({ branch: 'followed', parents: [repository.main], files: { f: 'f\n' } });
    await clone.git('tag', '--annotate', '--message=words', 'following', tip);
    await expectPushed(ground, () => clone.run(['push', '--follow-tags', 'origin', 'followed']));
    expect(await repository.bare.git('rev-parse', 'following^{commit}')).toBe(tip);
  });

  test('a tag of a file is a tag too', async () => {
    await clone.git('tag', 'file', `${repository.main}:README.md`);
    await expectPushed(ground, () => clone.run(['push', 'origin', 'refs/tags/file']));
    expect(await repository.bare.git('cat-file', '-t', 'file')).toBe('blob');
  });

  test.each([
    ['moved on', ['push', '--force', 'origin', 'feature:refs/tags/v1']],
    ['moved with a plus', ['push', 'origin', '+feature:refs/tags/v1']],
    ['deleted', ['push', '--delete', 'origin', 'v1']],
  ])('a tag is not %s', async (_what, args) => {
    const run = await expectRefused(ground, repository, 'push.tag-moved', () => clone.run(args));
    expect(Object.keys(rejected(run))).toEqual(['v1']);
  });
});

describe('refs of other kinds are not for sandboxes', () => {
  test.each(['refs/notes/commits', 'refs/pull/1/head', 'refs/meta/config', 'refs/replace/x', 'refs/stash'])(
    '%s',
    async (ref) => {
      const run = await expectRefused(ground, repository, 'push.namespace', () =>
        clone.run(['push', 'origin', `HEAD:${ref}`]),
      );
      expect(Object.keys(rejected(run))).toEqual([ref]);
    },
  );
});
