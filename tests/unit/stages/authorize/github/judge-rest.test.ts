import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { defaultEffects, type GithubEffect } from '../../../../../src/path/github-effects.ts';
import { decide } from '../../../../../src/stages/authorize/decide.ts';
import { hasJudgedBody } from '../../../../../src/stages/authorize/github/judge-body.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../../../support/hand-made-policy.ts';

function outcome(
  method: string,
  url: string,
  repos: readonly string[] = ['acme/widgets'],
  policy = githubPolicy,
): string {
  const run = (): string =>
    decide(policy, sandboxWith({ repos }), canonicalOf(method, url), new HeaderList()).credential ?? 'anonymous';
  try {
    return run();
  } catch {
    return refusalOf(run).code;
  }
}

const api = 'https://api.github.com';
const site = 'https://github.com';
const enterprise = 'https://ghe.example.com';

describe('a sandbox works in its own repositories on GitHub', () => {
  test.each([
    ['GET', `${api}/repos/acme/widgets`],
    ['GET', `${api}/repos/ACME/Widgets.git/contents/README.md?ref=main`],
    ['HEAD', `${api}/repos/acme/widgets/pulls/`],
    ['POST', `${api}/repos/acme/widgets/issues`],
    ['PATCH', `${api}/repos/acme/widgets/issues/7`],
    ['POST', `${api}/repos/acme/widgets/issues/7/comments`],
    ['PATCH', `${api}/repos/acme/widgets/issues/comments/99`],
    ['POST', `${api}/repos/acme/widgets/issues/7/labels`],
    ['PUT', `${api}/repos/acme/widgets/issues/7/labels`],
    ['POST', `${api}/repos/acme/widgets/pulls`],
    ['PATCH', `${api}/repos/acme/widgets/pulls/7`],
    ['POST', `${api}/repos/acme/widgets/pulls/7/comments`],
    ['POST', `${api}/repos/acme/widgets/pulls/7/comments/1/replies`],
    ['DELETE', `${api}/repos/acme/widgets/issues/comments/1`],
    ['POST', `${api}/repos/acme/widgets/git/commits`],
    ['GET', `${api}/repos/acme/widgets/compare/main...sandbox/x`],
    ['GET', `${api}/user`],
    ['GET', `${enterprise}/api/v3/user`],
    ['GET', `${site}/acme/widgets.git/info/refs?service=git-upload-pack`],
    ['GET', `${site}/acme/widgets/info/refs?service=git-upload-pack`],
    ['POST', `${site}/Acme/Widgets.git/git-upload-pack`],
    ['GET', `${enterprise}/api/v3/repos/acme/widgets/issues`],
    ['POST', `${enterprise}/api/v3/repos/acme/widgets/issues`],
    ['POST', `${enterprise}/acme/widgets.git/git-upload-pack`],
  ])('%s %s carries the credential', (method, url) => {
    expect(outcome(method, url)).toBe('github');
  });

  test('owner/* is every repository of that owner', () => {
    expect(outcome('GET', `${api}/repos/acme/other`, ['acme/*'])).toBe('github');
    expect(outcome('GET', `${api}/repos/acme2/other`, ['acme/*'])).toBe('repo.not-allowed');
  });
});

describe('what its address does not decide is left to the body or to a question', () => {
  test.each([
    ['PUT', `${api}/repos/acme/widgets/contents/README.md`],
    ['POST', `${api}/repos/acme/widgets/git/refs`],
    ['PATCH', `${api}/repos/acme/widgets/git/refs/heads/main`],
    ['POST', `${api}/repos/acme/widgets/merges`],
    ['POST', `${api}/repos/acme/widgets/pulls/7/reviews`],
    ['PUT', `${api}/repos/acme/widgets/pulls/7/update-branch`],
  ])('%s %s: the body decides', (method, url) => {
    const { github } = decide(githubPolicy, sandboxWith(), canonicalOf(method, url), new HeaderList());
    expect(hasJudgedBody(method, github!)).toBe(true);
  });

  test.each([`${api}/graphql`, `${enterprise}/api/graphql`])('POST %s: the document decides', (url) => {
    const { github, repository } = decide(githubPolicy, sandboxWith(), canonicalOf('POST', url), new HeaderList());
    expect({ operation: github?.operation, repository }).toEqual({ operation: 'graphql', repository: null });
  });

  test('a repository named by number is known only when GitHub was asked', () => {
    const canonical = canonicalOf('POST', `${api}/repositories/1234/issues`);
    const { github, repository } = decide(githubPolicy, sandboxWith(), canonical, new HeaderList());
    expect(repository).toBeNull();
    expect(github).toMatchObject({ repositoryId: '1234', effect: 'issue', operation: '/repos/{owner}/{repo}/issues' });
  });
});

describe('what cannot be tied to a repository is read as anybody reads it, or not done', () => {
  test.each([
    ['GET', `${api}/search/code?q=x`],
    ['GET', `${api}/users/stranger`],
    ['GET', `${api}/orgs/acme/repos`],
    ['GET', `${site}/`],
    ['GET', `${site}/stranger/project`],
    ['GET', `${site}/acme/widgets/archive/main.tar.gz`],
    ['GET', 'https://codeload.github.com/stranger/project/tar.gz/main'],
    ['GET', 'https://raw.githubusercontent.com/acme/widgets/main/README.md'],
    ['GET', 'https://gist.github.com/someone/abc'],
  ])('%s %s goes without a credential', (method, url) => {
    expect(outcome(method, url)).toBe('anonymous');
  });

  test.each([
    ['POST', `${api}/gists`],
    ['GET', `${api}/gists/abc`],
    ['GET', `${api}/user/repos`],
    ['GET', `${api}/notifications`],
    ['GET', `${api}/installation/repositories`],
    ['POST', `${api}/user/repos`],
    ['PATCH', `${api}/repositories/1234`],
    ['POST', `${enterprise}/api/v3/user/repos`],
    ['POST', `${enterprise}/api/uploads/repos/acme/widgets/releases/1/assets`],
    ['POST', 'https://uploads.github.com/repos/acme/widgets/releases/1/assets'],
    ['POST', `${api}/repos/acme/widgets/forks`],
    ['POST', `${api}/repos/acme/widgets/dispatches`],
    ['PATCH', `${api}/repos/acme/widgets`],
    ['GET', `${api}/repos/acme/widgets/hooks`],
  ])('%s %s has an effect that is not allowed', (method, url) => {
    expect(outcome(method, url)).toBe('github.effect');
  });

  test.each([
    ['GET', `${api}/repos/acme`],
    ['GET', `${enterprise}/api/v4/x`],
    ['POST', `${site}/session`],
    ['PUT', 'https://objects.githubusercontent.com/x'],
    ['POST', `${api}/repos/acme/widgets/issues/7x/comments`],
    ['POST', `${api}/repos/acme/widgets/newer/than/the/table`],
    ['GET', `${api}/repos/acme/widgets/newer/than/the/table`],
    ['GET', `${api}/repos/acme/widgets/compare/main...stranger:main`],
    ['GET', `${api}/repos/acme/widgets/compare/main...acme:secrets:main`],
    ['GET', `${api}/repos/acme/widgets/compare/stranger%3Amain...main`],
    ['GET', `${api}/repos/acme/widgets/dependency-graph/compare/main...stranger:main`],
    ['OPTIONS', `${api}/repos/acme/widgets`],
  ])('%s %s is not known, so it is refused', (method, url) => {
    expect(outcome(method, url)).toBe('repo.operation-not-judged');
  });

  test.each(['GET', 'PUT'])('GraphQL by %s is refused', (method) => {
    expect(outcome(method, `${api}/graphql`)).toBe('github.graphql');
    expect(outcome('POST', `${api}/graphql?query=x`)).toBe('github.graphql');
  });
});

describe('the policy decides which effects a mode has', () => {
  const merge = `${api}/repos/acme/widgets/pulls/7/merge`;
  const open = { allow: [{ host: 'api.github.com' }], credentials: [{ name: 'github', hosts: ['api.github.com'] }] };

  test('one that it adds is there, in the own repositories only', () => {
    const policy = handMadePolicy({ ...open, effects: [...defaultEffects, 'merge', 'read-account'] });
    expect(outcome('PUT', merge, ['acme/widgets'], policy)).toBe('github');
    expect(outcome('PUT', merge, ['acme/other'], policy)).toBe('repo.not-allowed');
    expect(outcome('GET', `${api}/search/code?q=x`, ['acme/widgets'], policy)).toBe('github');
    expect(outcome('GET', `${api}/user/repos`, ['acme/widgets'], policy)).toBe('github');
  });

  test('one that it adds is still subject to blocked_api_patterns', () => {
    const policy = handMadePolicy({
      ...open,
      effects: ['merge'],
      blocked: { PUT: ['^/repos/[^/]+/[^/]+/pulls/\\d+/merge$'] },
    });
    expect(outcome('PUT', merge, ['acme/widgets'], policy)).toBe('policy.blocked-api');
    expect(outcome('PUT', `${merge}/`, ['acme/widgets'], policy)).toBe('policy.blocked-api');
  });

  test('one that it takes away is gone', () => {
    const policy = handMadePolicy({ ...open, effects: ['read'] });
    expect(outcome('POST', `${api}/repos/acme/widgets/issues`, ['acme/widgets'], policy)).toBe('github.effect');
    expect(outcome('GET', `${api}/user`, ['acme/widgets'], policy)).toBe('github.effect');
  });

  test('one mode does not have what the other has', () => {
    const policy = {
      ...handMadePolicy(open),
      githubEffects: { bot: new Set(defaultEffects), user: new Set<GithubEffect>(['merge']) },
    };
    const ask = (authMode: 'bot' | 'user') => () =>
      decide(policy, sandboxWith({ authMode }), canonicalOf('PUT', merge), new HeaderList()).rule;
    expect(refusalOf(ask('bot')).rule).toBe('github.effects.bot');
    expect(ask('user')()).toBe('allow[0]');
  });
});

describe('a host that is not GitHub is not judged as if it were', () => {
  test('though its name ends the same', () => {
    const policy = handMadePolicy({
      allow: [{ host: 'notgithub.com' }],
      credentials: [{ name: 'theirs', hosts: ['notgithub.com'] }],
    });
    const canonical = canonicalOf('POST', 'https://notgithub.com/graphql');
    expect(decide(policy, sandboxWith(), canonical, new HeaderList()).credential).toBe('theirs');
  });
});

describe('a refusal is honest about what this version can judge', () => {
  test('it names the repositories of the sandbox and how to add one', () => {
    const refusal = refusalOf(() =>
      decide(githubPolicy, sandboxWith(), canonicalOf('GET', `${api}/repos/Other/Thing`), new HeaderList()),
    );
    expect(refusal.message).toBe('other/thing is not among the repositories of sbx_test');
    expect(refusal.hint).toContain('Its repositories: acme/widgets.');
    expect(refusal.hint).toContain('"repos": ["other/thing"]');
  });
});
