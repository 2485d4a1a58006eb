import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FileChange, GitFolder } from '../support/git-folder.ts';
import { rejected, remoteWords } from '../support/git-sandbox.ts';
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

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository();
  clone = await ground.sandbox.clone(repository.url);
});

function change(files: Record<string, FileChange>, ...parents: string[]): Promise<string> {
  return clone.commit({ branch: 'work', files, ...(parents.length === 0 ? {} : { parents }) });
}

async function expectProtected(path = workflow): Promise<void> {
  const run = await expectRefused(ground, repository, 'push.protected-path', () =>
    clone.run(['push', 'origin', 'work']),
  );
  expect(Object.keys(rejected(run))).toEqual(['work']);
  expect(remoteWords(run)).toContain(path);
  expect(remoteWords(run)).toContain('policy.protected_paths');
}

async function expectAllowed(): Promise<void> {
  await expectPushed(ground, () => clone.run(['push', 'origin', 'work']));
  expect(await repository.bare.tip('work')).toBe(await clone.tip('work'));
  await repository.bare.git('fsck', '--strict');
}

describe('a push that changes a protected path is refused', () => {
  test('in its last commit', async () => {
    await change({ [workflow]: 'on: evil\n' }, repository.main);
    await expectProtected();
  });

  test('with a file that was not there', async () => {
    await change({ '.github/workflows/deep/new.yml': 'on: evil\n' }, repository.main);
    await expectProtected('.github/workflows/deep/new.yml');
  });

  test('in an older commit of the push, undone at its end', async () => {
    await change({ [workflow]: 'on: evil\n' }, repository.main);
    await change({ [workflow]: 'on: push\n' });
    await change({ 'src/fine.txt': 'fine\n' });
    await expectProtected();
  });

  test('on a side of a merge, undone by the merge', async () => {
    const evil = await change({ [workflow]: 'on: evil\n' }, repository.main);
    const fine = await change({ 'src/fine.txt': 'fine\n' }, repository.main);
    await change({}, fine, evil);
    await expectProtected();
  });

  // A disk that does not tell cases apart checks these out as the workflow itself.
  test.each(['.github/workflows/CI.yml', '.github/WORKFLOWS/ci.yml', '.GitHub/Workflows/CI.YML'])(
    'in another case: %s',
    async (path) => {
      await change({ [path]: 'on: evil\n' }, repository.main);
      await expectProtected(path);
    },
  );

  test('by deleting it', async () => {
    await change({ [workflow]: null }, repository.main);
    await expectProtected();
  });

  test('by moving it away', async () => {
    await change({ [workflow]: null, 'ci.yml': 'on: push\n' }, repository.main);
    await expectProtected();
  });

  test('by moving another file there', async () => {
    await change({ 'README.md': null, '.github/workflows/README.md': 'read me\n' }, repository.main);
    await expectProtected('.github/workflows/README.md');
  });

  test('by its mode alone', async () => {
    await change({ [workflow]: { mode: '100755', text: 'on: push\n' } }, repository.main);
    await expectProtected();
  });

  test.each(['.github', '.github/workflows'])('by a link in the place of %s', async (path) => {
    await change({ [path]: { mode: '120000', text: 'src' }, 'src/workflows/ci.yml': 'on: evil\n' }, repository.main);
    await expectProtected(path);
  });

  test('by a submodule in the place of .github', async () => {
    await change({ '.github': { mode: '160000', text: repository.main } }, repository.main);
    await expectProtected('.github');
  });

  test('in a history of its own', async () => {
    await clone.commit({ branch: 'work', parents: [], files: { [workflow]: 'on: evil\n' } });
    await expectProtected();
  });

  test('behind a tag and no branch', async () => {
    const tip = await change({ [workflow]: 'on: evil\n' }, repository.main);
    await clone.git('tag', 'sly', tip);
    const run = await expectRefused(ground, repository, 'push.protected-path', () =>
      clone.run(['push', 'origin', 'sly']),
    );
    expect(Object.keys(rejected(run))).toEqual(['sly']);
  });

  test('by a merge that takes it from a branch that nobody guards', async () => {
    const other = await repository.bare.commit({
      branch: 'other',
      parents: [repository.main],
      files: { [workflow]: 'on: other\n' },
    });
    await clone.git('fetch', '--quiet');
    const own = await change({ 'src/own.txt': 'own\n' }, repository.main);
    await change({ [workflow]: 'on: other\n' }, own, other);
    await expectProtected();
  });

  test('by a merge that makes something new of two allowed versions', async () => {
    const next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    const own = await change({ 'src/own.txt': 'own\n' }, repository.main);
    await change({ [workflow]: 'on: neither\n' }, own, next);
    await expectProtected();
  });

  test('by taking a file that main has back to how it was', async () => {
    const next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    await change({ [workflow]: 'on: push\n' }, next);
    await expectProtected();
  });
});

describe('what leaves the protected paths alone passes', () => {
  test('beside them', async () => {
    await change({ '.github/CODEOWNERS': '* @me\n', 'src/workflows/ci.yml': 'on: push\n' }, repository.main);
    await expectAllowed();
  });

  test('on top of a protected file, with none of its directories in the pack', async () => {
    const next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    await change({ 'src/deep/down/file.txt': 'changed\n' }, next);
    await expectAllowed();
  });

  test('a merge that takes a protected file from main', async () => {
    const own = await change({ 'src/own.txt': 'own\n' }, repository.main);
    const next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    await change({ [workflow]: 'on: next\n' }, own, next);
    await expectAllowed();
  });

  test('a merge that takes a protected file from main, when main has gone on since', async () => {
    const own = await change({ 'src/own.txt': 'own\n' }, repository.main);
    const next = await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: later\n' } });
    await change({ [workflow]: 'on: next\n' }, own, next);
    await expectAllowed();
  });

  test('a branch that follows main', async () => {
    await repository.bare.git('branch', 'work', repository.main);
    await repository.bare.commit({ branch: 'main', files: { [workflow]: 'on: next\n' } });
    await clone.git('fetch', '--quiet');
    await clone.git('branch', 'work', 'origin/main');
    await expectAllowed();
  });

  test('with a file as large as it likes', async () => {
    await change({ 'src/large.txt': 'x'.repeat(2_000_000) }, repository.main);
    await expectAllowed();
  });
});

describe('the operator says which paths are protected', () => {
  let own: PushGround;

  beforeAll(async () => {
    own = await openPushGround({ config: { policy: { protected_paths: ['deploy/**', '*.lock'] } } });
  });

  afterAll(() => own.stop());

  test('those are, and the usual ones are not', async () => {
    const here = await own.repository();
    const work = await own.sandbox.clone(here.url);
    await work.commit({ branch: 'a', parents: [here.main], files: { [workflow]: 'on: other\n', 'src/x.lock': 'x\n' } });
    await expectPushed(own, () => work.run(['push', 'origin', 'a']));
    await work.commit({ branch: 'b', parents: [here.main], files: { 'deploy/prod/key': 'x\n' } });
    await expectRefused(own, here, 'push.protected-path', () => work.run(['push', 'origin', 'b']));
    await work.commit({ branch: 'c', parents: [here.main], files: { 'yarn.lock': 'x\n' } });
    await expectRefused(own, here, 'push.protected-path', () => work.run(['push', 'origin', 'c']));
    await work.commit({ branch: 'd', parents: [here.main], files: { 'Deploy/prod/key': 'x\n', 'CARGO.LOCK': 'x\n' } });
    await expectRefused(own, here, 'push.protected-path', () => work.run(['push', 'origin', 'd']));
  });
});
