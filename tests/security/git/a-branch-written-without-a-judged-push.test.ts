import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import type { Permission } from '../../../src/path/flow.ts';
import { decide } from '../../../src/stages/authorize/decide.ts';
import { hasJudgedBody } from '../../../src/stages/authorize/github/judge-body.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../support/hand-made-policy.ts';

function ask(method: string, url: string, headers = new HeaderList()): Permission {
  return decide(githubPolicy, sandboxWith({ authMode: 'user' }), canonicalOf(method, url), headers);
}

describe('nothing is written to a branch but by a push that is judged', () => {
  test.each([
    ['POST', 'https://api.github.com/repos/acme/widgets/git/refs/heads/main'],
    ['PUT', 'https://api.github.com/repos/acme/widgets/git/refs/heads/main'],
    ['POST', 'https://api.github.com/repos/acme/widgets/contents/README.md'],
    ['PATCH', 'https://api.github.com/repos/acme/widgets/branches/main'],
    ['POST', 'https://github.com/acme/widgets/edit/main/README.md'],
    ['PUT', 'https://github.com/acme/widgets.git/objects/ab/cd'],
    // A host that only serves content: not by its name either.
    ['POST', 'https://gist.github.com/acme/widgets.git/x'],
  ])('by the API or the site: %s %s', (method, url) => {
    expect(refusalOf(() => ask(method, url)).code).toMatch(/^(?:repo\.operation-not-judged|git\.dumb-http)$/);
  });

  // What the judges say is in github-*.test.ts; this is that none of these passes without one.
  test.each([
    ['PUT', '/repos/acme/widgets/contents/.github/workflows/x.yml'],
    ['PATCH', '/repos/acme/widgets/git/refs/heads/main'],
    ['DELETE', '/repos/acme/widgets/git/refs/heads/main'],
    ['POST', '/repos/acme/widgets/merge-upstream'],
    ['POST', '/repositories/7/merges'],
  ])('by the API, unless the body is judged: %s %s', (method, path) => {
    for (const base of ['https://api.github.com', 'https://ghe.example.com/api/v3']) {
      const { github } = ask(method, `${base}${path}`);
      expect([github?.effect, hasJudgedBody(method, github!)]).toEqual(['push', true]);
    }
  });

  test.each([
    ['GET', '/info/refs?service=git-upload-pack&service=git-receive-pack'],
    ['GET', '/info/refs?service=git%2dreceive-pack'],
    ['POST', '/git-receive-pack/'],
    ['POST', '/GIT-RECEIVE-PACK'],
    ['POST', '/git%2Dreceive%2Dpack'],
    ['PUT', '/git-receive-pack'],
    ['POST', '/git-receive-pack?x'],
    ['PUT', '/info/lfs/objects/1'],
  ])('by a service in a form git never uses: %s %s', (method, path) => {
    for (const host of ['github.com', 'www.github.com', 'ghe.example.com']) {
      const refusal = refusalOf(() => ask(method, `https://${host}/acme/widgets.git${path}`));
      expect([refusal.code, refusal.status]).toEqual(['git.not-understood', 403]);
    }
  });

  test('by a push that turns into one on the way: a method that is overridden', () => {
    const headers = HeaderList.from([['X-HTTP-Method-Override', 'POST']]);
    const url = 'https://github.com/acme/widgets.git/info/refs?service=git-upload-pack';
    expect(refusalOf(() => ask('GET', url, headers)).code).toBe('git.not-understood');
  });

  test.each([
    ['GET', 'https://git.example.com/acme/widgets.git/info/refs?service=git-receive-pack'],
    ['GET', 'https://git.example.com/acme/widgets.git/info/refs?service=git%2Dreceive-pack'],
    ['POST', 'https://git.example.com/deep/er/widgets/git-receive-pack'],
    ['POST', 'https://git.example.com/GIT-receive-PACK'],
    ['POST', 'https://gist.github.com/acme/widgets.git/git-receive-pack'],
  ])('on a host that nobody marked as one of git: %s %s', (method, url) => {
    const open = handMadePolicy({ allow: [{ host: 'git.example.com' }, { host: 'gist.github.com' }] });
    const refusal = refusalOf(() => decide(open, sandboxWith(), canonicalOf(method, url), new HeaderList()));
    expect(refusal.code).toBe('git.unmarked-host');
    expect(refusal.hint).toContain('git: {hosts: [');
  });
});

describe('so that the lists above mean something', () => {
  test.each([
    ['GET', '/info/refs?service=git-receive-pack', 'advertise-receive'],
    ['POST', '/git-receive-pack', 'receive-pack'],
    ['POST', '/git-upload-pack', 'upload-pack'],
    ['POST', '/info/lfs/objects/batch', 'lfs-batch'],
  ])('%s %s passes on to be judged as %s', (method, path, operation) => {
    for (const host of ['github.com', 'ghe.example.com']) {
      const permission = ask(method, `https://${host}/acme/widgets.git${path}`);
      expect(permission.credential).toBe('github');
      expect(permission.git).toMatchObject({ operation, repository: 'acme/widgets' });
    }
  });
});
