import { describe, expect, test } from 'vitest';
import { recogniseGit } from '../../../../../src/stages/authorize/git/git-request.ts';

describe('a git operation is recognised in the form that git sends, and no other', () => {
  test.each([
    ['GET', '/o/r.git/info/refs', 'service=git-upload-pack', 'advertise-upload'],
    ['GET', '/o/r/info/refs', 'service=git-receive-pack', 'advertise-receive'],
    ['POST', '/o/r.git/git-upload-pack', null, 'upload-pack'],
    ['POST', '/o/r/git-receive-pack', null, 'receive-pack'],
    ['POST', '/o/r.git/info/lfs/objects/batch', null, 'lfs-batch'],
    ['GET', '/o/r.git/info/lfs/locks', 'limit=10', 'lfs-locks'],
    ['POST', '/o/r.git/info/lfs/locks', null, 'lfs-lock'],
    ['POST', '/o/r.git/info/lfs/locks/17/unlock', null, 'lfs-unlock'],
    ['POST', '/o/r.git/info/lfs/locks/verify', null, 'lfs-verify-locks'],
  ] as const)('%s %s?%s', (method, path, query, operation) => {
    expect(recogniseGit(method, path, query)).toEqual({ kind: 'git', repository: 'o/r', operation });
  });

  test('the name keeps its case and loses one .git', () => {
    expect(recogniseGit('POST', '/Own/Re.po.GIT/git-upload-pack', null)).toMatchObject({ repository: 'Own/Re.po' });
  });

  test.each([
    ['GET', '/o/r.git/info/refs', 'service=git-upload-pack&service=git-receive-pack'],
    ['GET', '/o/r.git/info/refs', 'service=git-upload-archive'],
    ['GET', '/o/r.git/info/refs', 'service=git%2Dreceive-pack'],
    ['GET', '/o/r.git/info/refs', ''],
    ['POST', '/o/r.git/info/refs', 'service=git-receive-pack'],
    ['HEAD', '/o/r.git/info/refs', 'service=git-receive-pack'],
    ['GET', '/o/r.git/INFO/refs', 'service=git-receive-pack'],
    ['GET', '/o/r.git/info/refs/', 'service=git-receive-pack'],
    ['GET', '/o/r.git/git-receive-pack', null],
    ['PUT', '/o/r.git/git-receive-pack', null],
    ['POST', '/o/r.git/git-receive-pack', 'x'],
    ['POST', '/o/r.git/Git-Receive-Pack', null],
    ['POST', '/o/r.git/git-receive-pack/', null],
    ['POST', '/o/r.git/git-upload-archive', null],
    ['POST', '/group/o/r.git/git-receive-pack', null],
    ['POST', '/r.git/git-receive-pack', null],
    ['POST', '/o/r.git.git/git-receive-pack', null],
    ['POST', '/o/.git/git-receive-pack', null],
    ['PUT', '/o/r.git/info/lfs/objects/batch', null],
    ['POST', '/o/r.git/info/lfs/other', null],
  ] as const)('%s %s?%s only looks like one', (method, path, query) => {
    expect(recogniseGit(method, path, query)).toEqual({ kind: 'odd-git' });
  });

  test.each(['/o/r.git/HEAD', '/o/r/HEAD', '/o/r.git/info/refs', '/o/r/objects/info/packs', '/o/r.git/anything/else'])(
    'GET %s is dumb HTTP',
    (path) => {
      expect(recogniseGit('GET', path, null)).toEqual({ kind: 'dumb-http', repository: 'o/r' });
    },
  );

  test.each(['/', '/o', '/o/r', '/o/r.git', '/o/r/', '/o/r/issues', '/o/r/blob/main/git-upload-pack.md'])(
    'GET %s is plain web',
    (path) => {
      expect(recogniseGit('GET', path, null)).toEqual({ kind: 'other' });
    },
  );
});
