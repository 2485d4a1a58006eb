import { afterAll, beforeAll, describe, test } from 'vitest';
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
