import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, ids } from '../../unit/stages/authorize/github/graphql/graphql-ask.ts';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const target = '/repos/acme/widgets/pulls';
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

// The credential may see a fork that nobody else may; the pull request would show what is on it.
describe('a pull request shows no branch of a repository that is not of the sandbox', () => {
  test.each([
    { head: 'stranger:main' },
    { head: 'stranger:widgets:main' },
    { head: 'acme:secrets:main' },
    { head: ['stranger:main'] },
    { head: 'main', head_repo: 'acme/secrets' },
    { head: 'main', head_repo: 'secrets' },
    { head: 'acme:main', head_repo: 'stranger/widgets' },
    { head: 'main', head_repo: ['secrets'] },
  ])('%o', async (from) => {
    const call = { method: 'POST', target, body: { title: 't', base: 'main', ...from } };
    await ground.expectRefused(call, /^repo\.(?:not-allowed|operation-not-judged)$/);
  });

  test('nor when it is said in the query', async () => {
    const call = { method: 'POST', target: `${target}?head=stranger:main`, body: { title: 't', base: 'main' } };
    await ground.expectRefused(call, 'malformed.syntax');
  });

  test('its own branches it does show', async () => {
    for (const head of ['sandbox/work', 'acme:sandbox/work', 'Acme:sandbox/work']) {
      await ground.expectPassed({ method: 'POST', target, body: { title: 't', base: 'main', head } });
    }
    await ground.expectPassed({
      method: 'POST',
      target,
      body: { base: 'main', head: 'x', issue: 7, head_repo: 'widgets' },
    });
  });
});

describe('nor is a branch of a fork compared with', () => {
  const compare = '/repos/acme/widgets/compare';

  test.each([
    `${compare}/main...stranger:main`,
    `${compare}/main...stranger:widgets:main`,
    `${compare}/stranger%3Amain...main`,
    `${compare}/main...acme:secrets:main`,
    '/repos/acme/widgets/dependency-graph/compare/main...stranger:main',
  ])('%s', async (path) => {
    await ground.expectRefused({ method: 'GET', target: path }, 'repo.operation-not-judged');
  });

  test('two branches of its own are', () =>
    ground.expectPassed({ method: 'GET', target: `${compare}/main...sandbox/work` }));
});

describe('nor does GraphQL make a pull request from a fork', () => {
  const create = (head: string) =>
    ask(
      `mutation { createPullRequest(input: {repositoryId: "${ids.repository}", baseRefName: "main", headRefName: "${head}", title: "t"}) { clientMutationId } }`,
    );

  test.each(['stranger:main', 'Stranger:x', ':main', 'stranger:r:main'])('%s', async (head) => {
    const { verdict } = await create(head);
    expect(verdict.allowed ? 'allowed' : verdict.refusal.code).toBe('repo.not-allowed');
  });

  test('from its own branches it does', async () => {
    for (const head of ['sandbox/work', 'o:sandbox/work']) expect((await create(head)).verdict.allowed).toBe(true);
  });
});
