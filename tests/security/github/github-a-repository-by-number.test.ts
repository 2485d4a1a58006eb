import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GithubAttackGround, openGithubGround, type ScriptedReply } from './github-attack-ground.ts';

let ground: GithubAttackGround;
const file = { message: 'm', content: '' };

beforeAll(async () => {
  const replies: Record<string, ScriptedReply> = {
    'GET /repositories/1': { status: 200, body: { full_name: 'Acme/Widgets' } },
    'GET /repositories/2': { status: 200, body: { full_name: 'acme/secrets' } },
    'GET /repositories/3': { status: 404, body: { message: 'Not Found' } },
    'GET /repositories/4': { status: 301, headers: { location: 'https://api.github.com/repositories/1' } },
    'GET /repositories/5': { status: 200, body: { full_name: 'acme/widgets/../secrets' } },
    'GET /repositories/6': { status: 200, body: { name: 'acme/widgets' } },
    'GET /repositories/8': { status: 500, body: { full_name: 'acme/widgets' } },
    'GET /repositories/9': { status: 200, body: { full_name: '/widgets' } },
  };
  ground = await openGithubGround({
    replies,
    config: {
      policy: {
        blocked_api_patterns: {
          POST: ['^/repos/[^/]+/[^/]+/(?:issues|labels)$'],
          GET: ['^/repos/[^/]+/[^/]+/milestones$'],
        },
        protected_branches: ['main'],
        protected_paths: ['.github/workflows/**'],
      },
    },
  });
});

afterAll(() => ground.stop());

describe('a repository named by its number is no other than one of the sandbox', () => {
  test.each([
    [2, 'is another', 'repo.not-allowed'],
    [3, 'cannot be seen', 'repo.not-allowed'],
    [4, 'has moved', /^(?:repo\.not-allowed|push\.undecided)$/],
    [5, 'has a name with a way out', 'repo.not-allowed'],
    [9, 'has a name without an owner', 'repo.not-allowed'],
    [8, 'cannot be asked about', /^(?:repo|upstream)\./],
    [6, 'is described in another form', /^(?:repo|upstream)\./],
  ])('number %i %s', async (number, _, code) => {
    for (const call of [
      { method: 'GET', target: `/repositories/${number}` },
      { method: 'GET', target: `/repositories/${number}/contents/.env` },
      { method: 'POST', target: `/repositories/${number}/pulls`, body: {} },
      { method: 'PUT', target: `/repositories/${number}/contents/x`, body: { ...file, branch: 'sandbox/x' } },
    ]) {
      // The question about the repository is the gateway's own: what came from the sandbox does not arrive.
      await ground.expectRefused(call, code);
    }
  });

  test.each(['1x', '0x1', '1.0', '-1', '1%2F..', '123456789012345678901'])('%s is no number', async (number) => {
    const call = { method: 'GET', target: `/repositories/${number}/contents/x` };
    await ground.expectRefused(call, /^(?:repo\.|malformed\.)/);
    expect(ground.api.seen).toEqual([]);
  });

  test('number 1 is its own', async () => {
    await ground.expectPassed({ method: 'GET', target: '/repositories/1/contents/README.md' });
    await ground.expectPassed({ method: 'POST', target: '/repositories/1/pulls', body: { title: 'x' } });
    await ground.expectPassed({
      method: 'PUT',
      target: '/repositories/1/contents/x',
      body: { ...file, branch: 'sandbox/x' },
    });
  });
});

describe('what holds under the name holds under the number', () => {
  test('effects', async () => {
    await ground.expectRefused({ method: 'PUT', target: '/repositories/1/pulls/7/merge', body: {} }, 'github.effect');
    await ground.expectRefused({ method: 'DELETE', target: '/repositories/1' }, 'github.effect');
    await ground.expectRefused(
      { method: 'POST', target: '/repositories/1/pulls/7/reviews', body: { event: 'APPROVE' } },
      'github.effect',
    );
  });

  test('branches and paths', async () => {
    const target = '/repositories/1/contents/x';
    await ground.expectRefused({ method: 'PUT', target, body: { ...file, branch: 'main' } }, 'push.protected-branch');
    const workflow = {
      method: 'PUT',
      target: '/repositories/1/contents/.github/workflows/x.yml',
      body: { ...file, branch: 'x' },
    };
    await ground.expectRefused(workflow, 'push.protected-path');
    await ground.expectRefused(
      { method: 'DELETE', target: '/repositories/1/git/refs/heads/main' },
      'push.protected-branch',
    );
    const moved = {
      method: 'PATCH',
      target: '/repositories/1/git/refs/heads/sandbox/work',
      body: { sha: ground.main },
    };
    await ground.expectRefused(moved, 'push.force');
  });

  test('blocked_api_patterns', async () => {
    await ground.expectRefused(
      { method: 'POST', target: '/repos/acme/widgets/issues', body: {} },
      'policy.blocked-api',
    );
    await ground.expectRefused({ method: 'POST', target: '/repositories/1/issues', body: {} }, 'policy.blocked-api');
    await ground.expectRefused({ method: 'GET', target: '/repositories/1/milestones' }, 'policy.blocked-api');
    await ground.expectRefused({ method: 'GET', target: '/%72epositories/%31/milestones/' }, 'policy.blocked-api');
  });

  test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])('and for %s', async (field) => {
    const call = { method: 'GET', target: '/repositories/1/labels', headers: { [field]: 'POST' } };
    await ground.expectRefused(call, 'policy.blocked-api');
  });
});
