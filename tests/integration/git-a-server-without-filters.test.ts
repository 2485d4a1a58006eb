import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { rejected } from '../support/git-sandbox.ts';
import {
  expectPushed,
  expectRefused,
  openPushGround,
  type PushGround,
  type TestRepository,
} from '../support/push-ground.ts';

const workflow = '.github/workflows/ci.yml';
let ground: PushGround;
let repository: TestRepository;
let clone: GitFolder;
let next: string;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository({ filters: false });
  await repository.bare.commit({ branch: 'feature', parents: [repository.main], files: { f: '0\n' } });
  await repository.bare.commit({ branch: 'feature', files: { f: '1\n' } });
  next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
  clone = await ground.sandbox.clone(repository.url);
});

afterAll(() => ground.stop());

describe('a server that cannot leave anything out is asked all the same', () => {
  test('a push that adds to a branch passes', async () => {
    const tip = await clone.commit({ branch: 'feature', parents: ['origin/feature'], files: { f: '2\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
  });

  test('commits that are on the server under another branch are followed', async () => {
    const ahead = await repository.bare.commit({ branch: 'ahead', parents: ['feature'], files: { f: '3\n' } });
    await clone.git('fetch', '--quiet');
    await expectPushed(ground, () => clone.run(['push', 'origin', 'origin/ahead:feature']));
    expect(await repository.bare.tip('feature')).toBe(ahead);
  });

  test('a rewrite is seen', async () => {
    const run = await expectRefused(ground, repository, 'push.force', () =>
      clone.run(['push', '--force', 'origin', `${repository.main}:refs/heads/feature`]),
    );
    expect(Object.keys(rejected(run))).toEqual(['feature']);
  });

  test('a protected path is seen', async () => {
    await clone.commit({ branch: 'sly', parents: [repository.main], files: { [workflow]: 'on: evil\n' } });
    await expectRefused(ground, repository, 'push.protected-path', () => clone.run(['push', 'origin', 'sly']));
  });

  test('and one that was left alone, with directories that are not in the pack', async () => {
    const tip = await clone.commit({ branch: 'fine', parents: [next], files: { 'src/deep/down/file.txt': '2\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'fine']));
    expect(await repository.bare.tip('fine')).toBe(tip);
  });
});
