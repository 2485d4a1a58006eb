// The token may write to more repositories than the sandbox may. Nothing is pushed to any but its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../../support/git-folder.ts';
import { openPushGround, otherHost, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

let ground: PushGround;
let own: TestRepository;
let foreign: { readonly bare: GitFolder };
let body: Buffer;

beforeAll(async () => {
  ground = await openPushGround({
    registration: { repos: ['acme/r1'] },
    config: { allow: [{ preset: 'github' }, { host: otherHost }], git: { public_fetch: true } },
  });
  own = await ground.repository();
  foreign = { bare: await ground.upstream.create('other/secret', { isPublic: true }) };
  const next = await own.bare.commit({ branch: 'refs/made/next', parents: [own.main], files: { n: 'n\n' } });
  body = pushOf([[zeroId, next, 'refs/heads/fine']], await honestPack(own.bare, [next]));
});

afterAll(() => ground.stop());

describe('nothing is pushed to the repository of somebody else', () => {
  test.each([
    '/other/secret.git/git-receive-pack',
    '/other/secret/git-receive-pack',
    '/Other/Secret.git/git-receive-pack',
    '/acme/r10.git/git-receive-pack',
    '/acme/r1.wiki.git/git-receive-pack',
    '/other/acme.git/git-receive-pack',
  ])('POST %s', async (target) => {
    await expectStopped(ground, foreign, 'repo.not-allowed', () => sendPush(ground, own, body, { target }));
    expect(ground.upstream.requests).toEqual([]);
  });

  test.each(['/other/secret.git', '/other/secret', '/acme/r10'])('nor is it asked what could be: %s', async (path) => {
    const target = `${path}/info/refs?service=git-receive-pack`;
    await expectStopped(ground, foreign, 'repo.not-allowed', () =>
      sendPush(ground, own, Buffer.alloc(0), { method: 'GET', target, contentType: [] }),
    );
    expect(ground.upstream.requests).toEqual([]);
  });

  test.each([
    ['/acme/r1.git/../../other/secret.git/git-receive-pack', 'malformed.path'],
    ['/acme/r1.git/%2e%2e/%2e%2e/other/secret.git/git-receive-pack', 'malformed.path'],
    ['/acme/r1%2F..%2F..%2Fother/secret.git/git-receive-pack', 'malformed.path'],
    ['/other%2Fsecret.git/git-receive-pack', 'path.not-allowed'],
    ['//acme/r1.git/git-receive-pack', 'malformed.path'],
    ['/acme//r1.git/git-receive-pack', 'malformed.path'],
    ['/acme/r1.git;x/git-receive-pack', 'repo.not-allowed'],
  ])('nor by a path with a twist: %s', async (target, code) => {
    await expectStopped(ground, foreign, code, () => sendPush(ground, own, body, { target }));
    expect(ground.upstream.requests).toEqual([]);
  });
});

describe('nothing is pushed to a host that nobody marked as a git host', () => {
  test.each([
    ['POST', '/acme/r1.git/git-receive-pack'],
    ['POST', '/deep/er/down/r1.git/git-receive-pack'],
    ['POST', '/acme/r1.git/git%2Dreceive-pack'],
    ['POST', '/acme/r1.git/GIT-RECEIVE-PACK'],
    ['GET', '/acme/r1.git/info/refs?service=git-receive-pack'],
    ['GET', '/acme/r1.git/info/refs?service=git%2dreceive-pack'],
  ])('%s %s', async (method, target) => {
    const bytes = method === 'POST' ? body : Buffer.alloc(0);
    await expectStopped(ground, own, 'git.unmarked-host', () =>
      sendPush(ground, own, bytes, { host: otherHost, method, target }),
    );
    expect(ground.upstream.requests).toEqual([]);
  });
});
