import { describe, expect, test } from 'vitest';
import { decide } from '../../src/authorize/decide.ts';
import type { Permission } from '../../src/flow/flow.ts';
import { HeaderList } from '../../src/flow/header-list.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../support/hand-made-flow.ts';
import { githubPolicy } from '../support/hand-made-policy.ts';

function ask(method: string, url: string): Permission {
  return decide(githubPolicy, sandboxWith({ authMode: 'user' }), canonicalOf(method, url), new HeaderList());
}

describe('nothing is written to a branch while pushes cannot be judged', () => {
  test.each([
    ['GET', 'https://github.com/acme/widgets.git/info/refs?service=git-receive-pack'],
    ['GET', 'https://github.com/acme/widgets.git/info/refs?service=git-upload-pack&service=git-receive-pack'],
    ['GET', 'https://github.com/acme/widgets.git/info/refs?service=git%2dreceive-pack'],
    ['GET', 'https://github.com/acme/widgets.git/info/refs'],
    ['POST', 'https://github.com/acme/widgets.git/git-receive-pack'],
    ['POST', 'https://github.com/acme/widgets.git/git-receive-pack/'],
    ['POST', 'https://github.com/acme/widgets.git/GIT-RECEIVE-PACK'],
    ['POST', 'https://github.com/acme/widgets.git/git%2Dreceive%2Dpack'],
    ['POST', 'https://github.com/acme/widgets.git/info/lfs/objects/batch'],
    ['PUT', 'https://github.com/acme/widgets.git/info/lfs/objects/1'],
    ['POST', 'https://ghe.example.com/acme/widgets.git/git-receive-pack'],
    ['PUT', 'https://api.github.com/repos/acme/widgets/contents/.github/workflows/x.yml'],
    ['POST', 'https://api.github.com/repos/acme/widgets/git/commits'],
    ['PATCH', 'https://api.github.com/repos/acme/widgets/git/refs/heads/main'],
    ['DELETE', 'https://api.github.com/repos/acme/widgets/git/refs/heads/main'],
    ['POST', 'https://api.github.com/repos/acme/widgets/merge-upstream'],
    ['POST', 'https://api.github.com/graphql'],
    ['POST', 'https://ghe.example.com/api/graphql'],
    ['POST', 'https://github.com/acme/widgets/edit/main/README.md'],
  ])('%s %s', (method, url) => {
    expect(refusalOf(() => ask(method, url)).code).toBe('repo.operation-not-judged');
  });

  test('the person is told that it is pushes that are refused', () => {
    const refusal = refusalOf(() => ask('POST', 'https://github.com/acme/widgets.git/git-receive-pack'));
    expect(refusal.message).toBe('pushes are refused until their content can be judged');
    expect(refusal.status).toBe(403);
  });

  test('fetching passes, so that the list above means something', () => {
    expect(ask('POST', 'https://github.com/acme/widgets.git/git-upload-pack').credential).toBe('github');
  });
});
