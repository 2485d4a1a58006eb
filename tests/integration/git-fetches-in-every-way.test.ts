import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { openPushGround, type PushGround, type TestRepository } from '../support/push-ground.ts';

let ground: PushGround;
let repository: TestRepository;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  for (let i = 0; i < 5; i++) await repository.bare.commit({ branch: 'main', files: { 'src/other.txt': `${i}\n` } });
  await repository.bare.commit({ branch: 'topic', parents: [repository.main], files: { 'topic.txt': 'topic\n' } });
});

afterAll(() => ground.stop());

/** The clone has every object it should, unbroken, and reached its origin with the right login. */
async function expectWhole(clone: GitFolder): Promise<void> {
  expect(await clone.tip('refs/remotes/origin/main')).toBe(await repository.bare.tip('main'));
  await clone.git('fsck', '--strict');
  expect(ground.upstream.requests.every(({ login }) => login === true)).toBe(true);
}

describe('git fetches as it would without a door', () => {
  test.each([
    ['0', null],
    ['1', 'version=1'],
    ['2', 'version=2'],
  ])('clone and fetch in protocol version %s', async (version, field) => {
    ground.upstream.forget();
    const clone = await ground.sandbox.clone(repository.url, '-c', `protocol.version=${version}`);
    await expectWhole(clone);
    expect(ground.upstream.requests.map(({ protocol }) => protocol)).toEqual(ground.upstream.requests.map(() => field));
    const next = await repository.bare.commit({ branch: 'main', files: { 'src/next.txt': `${version}\n` } });
    await clone.git('fetch', '--quiet');
    expect(await clone.tip('refs/remotes/origin/main')).toBe(next);
    await expectWhole(clone);
  });

  test.each([
    ['HTTP/1.1', '1.1'],
    ['HTTP/2', '2.0'],
  ])('over %s, which the far side sees as well', async (version, seen) => {
    ground.upstream.forget();
    await expectWhole(await ground.sandbox.clone(repository.url, '-c', `http.version=${version}`));
    expect(new Set(ground.upstream.requests.map(({ httpVersion }) => httpVersion))).toEqual(new Set([seen]));
  });

  test('shallow, then deeper, then whole', async () => {
    const clone = await ground.sandbox.clone(repository.url, '--depth=1');
    expect(await clone.git('rev-list', '--count', 'HEAD')).toBe('1');
    await clone.git('fetch', '--quiet', '--deepen=1');
    expect(await clone.git('rev-list', '--count', 'HEAD')).toBe('2');
    await clone.git('fetch', '--quiet', '--unshallow');
    expect(await clone.git('rev-list', '--count', 'HEAD')).toBe(
      await repository.bare.git('rev-list', '--count', 'main'),
    );
    await expectWhole(clone);
  });

  test('without blobs, which come when they are needed', async () => {
    const clone = await ground.sandbox.clone(repository.url, '--filter=blob:none', '--no-checkout');
    expect(await clone.git('rev-list', '--objects', '--all', '--missing=print')).toContain('\n?');
    await clone.git('checkout', '--quiet', 'main');
    expect(await clone.git('show', 'main:README.md')).toBe('read me');
    await expectWhole(clone);
  });

  test('one branch alone, and the names of all', async () => {
    const clone = await ground.sandbox.clone(repository.url, '--single-branch', '--branch=topic');
    expect(await clone.tip('refs/remotes/origin/main')).toBeNull();
    const names = await clone.git('ls-remote', 'origin');
    expect(names).toContain('refs/heads/main');
    expect(names).toContain('refs/heads/topic');
  });

  test('with so much in common that the question is sent compressed', async () => {
    const clone = await ground.sandbox.clone(repository.url);
    for (let i = 0; i < 40; i++) await clone.commit({ branch: `own-${i}`, files: { own: `${i}\n` }, parents: [] });
    await repository.bare.commit({ branch: 'main', files: { 'src/next.txt': 'compressed\n' } });
    ground.upstream.forget();
    await clone.git('fetch', '--quiet');
    const questions = ground.upstream.requests.filter(({ method }) => method === 'POST');
    expect(questions.map(({ contentEncoding }) => contentEncoding)).toContain('gzip');
    await expectWhole(clone);
  });

  test('upper case and without .git, as a person may write it', async () => {
    await expectWhole(await ground.sandbox.clone(repository.url.replace('/acme/r1.git', '/Acme/R1')));
  });
});

describe('what git is told when it may not fetch', () => {
  test('a repository of somebody else', async () => {
    await ground.upstream.create('other/secret');
    ground.upstream.forget();
    const run = await ground.sandbox.home.run(['clone', 'https://github.com/other/secret.git']);
    expect(run.code).toBe(128);
    expect(run.stderr).toMatch(/^remote: other\/secret is not among the repositories of sbx_/m);
    expect(ground.upstream.requests).toEqual([]);
    expect(await ground.lastRecord('/info/refs')).toMatchObject({ verdict: 'refused', code: 'repo.not-allowed' });
  });

  test('a login of its own does not help, nor does it travel', async () => {
    ground.upstream.forget();
    const run = await ground.sandbox.home.run(['ls-remote', repository.url.replace('://', '://me:my-own-token@')]);
    expect(run.code).toBe(0);
    expect(ground.upstream.requests.map(({ login }) => login)).toEqual(ground.upstream.requests.map(() => true));
  });
});
