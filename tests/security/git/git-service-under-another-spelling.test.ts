// A git service asked for in a form that git never uses: a server may take it for the real thing while the gateway takes
// it for a page. Each is refused before anything is sent.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

let ground: PushGround;
let repository: TestRepository;
let body: Buffer;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const { bare, main } = repository;
  const next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  body = pushOf([[zeroId, next, 'refs/heads/fine']], await honestPack(bare, [next], [main]));
});

afterAll(() => ground.stop());

/** Nothing at all reaches the far side, not only no push. */
async function expectNothing(code: string, method: string, path: string, withBody = method === 'POST'): Promise<void> {
  const target = `/${repository.name}${path}`;
  await expectStopped(ground, repository, code, () =>
    sendPush(ground, repository, withBody ? body : Buffer.alloc(0), { method, target }),
  );
  expect(ground.upstream.requests).toEqual([]);
}

describe('a git service has one spelling', () => {
  test.each([
    ['GET', '.git/git-receive-pack'],
    ['PUT', '.git/git-receive-pack'],
    ['HEAD', '.git/git-receive-pack'],
    ['OPTIONS', '.git/git-receive-pack'],
    ['GET', '.git/git-upload-pack'],
    ['POST', '.git/git-receive-pack?x=1'],
    ['POST', '.git/git-receive-pack/'],
    ['POST', '.git/GIT-RECEIVE-PACK'],
    ['POST', '.git/Git-Receive-Pack'],
    ['POST', '.git/x/git-receive-pack'],
    ['POST', '.git/git-receive-pack/x'],
    ['POST', '.git.git/git-receive-pack'],
    ['POST', '/git-receive-pack/git-receive-pack'],
    ['POST', '.git/git-receive-archive'],
    ['POST', '.git/info/refs?service=git-receive-pack'],
    ['GET', '.git/info/refs?service=git-receive-pack&service=git-upload-pack'],
    ['GET', '.git/info/refs?service=git-upload-pack&service=git-receive-pack'],
    ['GET', '.git/info/refs?service=git%2dreceive-pack'],
    ['GET', '.git/info/refs?service=git-receive%2Dpack'],
    ['GET', '.git/info/refs?%73ervice=git-receive-pack'],
    ['GET', '.git/info/refs?service=git-receive-pack#'],
    ['GET', '.git/info/refs?service=git-receive-pack&x=1'],
    ['GET', '.git/info/refs?x=1&service=git-receive-pack'],
    ['GET', '.git/info/refs?Service=git-receive-pack'],
    ['GET', '.git/info/refs?service=receive-pack'],
    ['GET', '.git/info/refs?service='],
    ['GET', '.git/info/refs?'],
    ['GET', '.git/INFO/refs?service=git-receive-pack'],
    ['GET', '.git/info/refs/?service=git-receive-pack'],
  ])('%s REPO%s', async (method, path) => {
    const code = path.endsWith('#') ? 'malformed.path' : 'git.not-understood';
    await expectNothing(code, method, path);
  });

  test.each(['.git/git%2Dreceive-pack', '.git/%67it-receive-pack', '%2Egit/git-receive-pack'])(
    'POST REPO%s, encoded where it need not be',
    (path) => expectNothing('git.not-understood', 'POST', path),
  );

  test.each([
    '.git/info/refs',
    '.git/HEAD',
    '.git/objects/info/packs',
    '.git/objects/ab/cdef',
    '.git/config',
    '.git/packed-refs',
    '.git/info/alternates',
    '/HEAD',
    '/objects/info/packs',
  ])('GET REPO%s is the dumb protocol, which nobody can judge', (path) => expectNothing('git.dumb-http', 'GET', path));
});
