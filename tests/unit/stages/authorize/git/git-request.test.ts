import { describe, expect, test } from 'vitest';
import { findGitRequest, refusePushToUnmarkedHost } from '../../../../../src/stages/authorize/git/git-request.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const closed = handMadePolicy({});
const open = handMadePolicy({ publicFetch: true });

function find(
  method: string,
  path: string,
  options: { policy?: typeof closed; repos?: string[]; methods?: string[]; namespacePid?: number } = {},
) {
  const canonical = canonicalOf(method, `https://github.com${path}`);
  const sandbox = sandboxWith({ repos: options.repos ?? ['acme/widgets'], namespacePid: options.namespacePid ?? null });
  return findGitRequest(options.policy ?? closed, sandbox, canonical, options.methods ?? [method]);
}

describe('a request of git is read from its method, path and query', () => {
  test.each([
    ['GET', '/acme/widgets.git/info/refs?service=git-upload-pack', 'advertise-upload'],
    ['GET', '/acme/widgets/info/refs?service=git-receive-pack', 'advertise-receive'],
    ['POST', '/acme/widgets/git-upload-pack', 'upload-pack'],
    ['POST', '/acme/widgets.git/git-receive-pack', 'receive-pack'],
    ['POST', '/acme/widgets.git/info/lfs/objects/batch', 'lfs-batch'],
    ['GET', '/acme/widgets.git/info/lfs/locks', 'lfs-locks'],
    ['POST', '/acme/widgets.git/info/lfs/locks', 'lfs-lock'],
    ['POST', '/acme/widgets.git/info/lfs/locks/7/unlock', 'lfs-unlock'],
    ['POST', '/acme/widgets.git/info/lfs/locks/verify', 'lfs-verify-locks'],
  ])('%s %s is %s', (method, path, operation) => {
    expect(find(method, path)).toEqual({
      request: {
        repository: 'acme/widgets',
        rawRepositoryPath: path.split('/').slice(0, 3).join('/'),
        operation,
        ticket: null,
      },
      isPublicFetch: false,
    });
  });

  test('the repository in its canonical form, the path as it came', () => {
    expect(find('POST', '/ACME/Widgets.git/git-upload-pack')?.request).toMatchObject({
      repository: 'acme/widgets',
      rawRepositoryPath: '/ACME/Widgets.git',
    });
  });

  test('the ticket of an object that this door hands out', () => {
    const ticket = 'Abc-123_0123456789';
    for (const method of ['GET', 'PUT', 'POST']) {
      expect(find(method, `/acme/widgets.git/info/lfs/door/${ticket}`)?.request).toMatchObject({
        operation: 'lfs-object',
        ticket,
      });
    }
  });

  test('anything else is plain web', () => {
    for (const path of ['/', '/acme', '/acme/widgets', '/acme/widgets/issues', '/acme/widgets/blob/main/info/x']) {
      expect(find('GET', path, { repos: [] }), path).toBeNull();
    }
  });
});

describe('what only looks like git is refused, whosever repository it names', () => {
  test.each([
    ['GET', '/acme/widgets.git/info/refs', 'git.dumb-http'],
    ['GET', '/acme/widgets.git/HEAD', 'git.dumb-http'],
    ['GET', '/acme/widgets/objects/info/packs', 'git.dumb-http'],
    ['GET', '/acme/widgets.git/info/refs?service=git-upload-archive', 'git.not-understood'],
    ['PUT', '/acme/widgets.git/git-receive-pack', 'git.not-understood'],
    ['POST', '/acme/widgets.git/%67it-receive-pack', 'git.not-understood'],
    ['POST', '/acme/w%69dgets.git/git-upload-pack', 'git.not-understood'],
    ['POST', '/a/b/c/git-receive-pack', 'git.not-understood'],
  ])('%s %s: %s', (method, path, code) => {
    expect(refusalOf(() => find(method, path)).code).toBe(code);
    expect(refusalOf(() => find(method, path, { repos: [] })).code).toBe(code);
  });

  test('and so is one that may turn into another method on the way', () => {
    const methods = ['POST', 'PUT'];
    expect(refusalOf(() => find('POST', '/acme/widgets/git-upload-pack', { methods })).code).toBe('git.not-understood');
  });

  test('in words that say what to use instead', () => {
    const dumb = refusalOf(() => find('GET', '/acme/widgets.git/HEAD'));
    expect([dumb.status, dumb.rule]).toEqual([403, 'built-in: smart HTTP only']);
    expect(dumb.hint).toContain('smart HTTP');
    const odd = refusalOf(() => find('PUT', '/acme/widgets.git/git-receive-pack'));
    expect(odd.message).toBe(
      'PUT /acme/widgets.git/git-receive-pack looks like git on github.com, but git never sends it in this form',
    );
  });
});

describe('a repository that is not the sandbox’s', () => {
  test('is refused, with the ones that are and how to add it', () => {
    const refusal = refusalOf(() => find('POST', '/Other/Thing.git/git-upload-pack'));
    expect(refusal.code).toBe('repo.not-allowed');
    expect(refusal.message).toBe('other/thing is not among the repositories of sbx_test');
    expect(refusal.hint).toBe(
      'Its repositories: acme/widgets. To allow it, register the sandbox with "repos": ["other/thing"].',
    );
    expect(refusalOf(() => find('POST', '/o/t/git-upload-pack', { repos: [] })).hint).toContain(
      'Its repositories: none.',
    );
  });

  test('of `run` is refused in the words of `run`, and nothing of the sandbox gets into a command line', () => {
    const hintOf = (path: string) => refusalOf(() => find('POST', path, { namespacePid: 77 })).hint;
    expect(hintOf('/Other/Thing.git/git-upload-pack')).toBe(
      'Its repositories: acme/widgets. To allow it, start the sandbox with it: sallyport run --repo other/thing.',
    );
    expect(hintOf('/other/$(id)/git-upload-pack')).toContain('sallyport run --repo ….');
  });

  test('may be fetched where public fetches are allowed, and nothing else', () => {
    expect(find('POST', '/other/thing/git-upload-pack', { policy: open })?.isPublicFetch).toBe(true);
    expect(find('GET', '/other/thing/info/refs?service=git-upload-pack', { policy: open })?.isPublicFetch).toBe(true);
    // Its own stays its own.
    expect(find('POST', '/acme/widgets/git-upload-pack', { policy: open })?.isPublicFetch).toBe(false);
    for (const [method, path] of [
      ['GET', '/other/thing/info/refs?service=git-receive-pack'],
      ['POST', '/other/thing/git-receive-pack'],
      ['POST', '/other/thing/info/lfs/objects/batch'],
      ['GET', '/other/thing/info/lfs/door/0123456789abcdef'],
      ['POST', '/other_!/thing/git-upload-pack'],
    ] as const) {
      expect(refusalOf(() => find(method, path, { policy: open })).code, path).toBe('repo.not-allowed');
    }
  });
});

describe('a push to a host that nobody marked', () => {
  test.each([
    '/acme/widgets.git/git-receive-pack',
    '/a/b/c/git-receive-pack',
    '/GIT-Receive-Pack',
    '/x/info/refs?service=git-receive-pack',
    '/x/info/refs?service=git%2dreceive%2Dpack',
    '/x?a=%67it-receive-pack',
  ])('%s is refused, and the operator is told what to add', (path) => {
    const refusal = refusalOf(() => refusePushToUnmarkedHost(canonicalOf('POST', `https://git.example.com${path}`)));
    expect(refusal.code).toBe('git.unmarked-host');
    expect(refusal.hint).toContain('git: {hosts: [git.example.com]}');
  });

  test('anything else there is plain web', () => {
    for (const path of ['/', '/x/info/refs?service=git-upload-pack', '/git-receive', '/x?q=100%']) {
      expect(() => refusePushToUnmarkedHost(canonicalOf('GET', `https://git.example.com${path}`)), path).not.toThrow();
    }
  });
});
