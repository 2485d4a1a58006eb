import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/authorize/decide.ts';
import { HeaderList } from '../../../src/flow/header-list.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../support/hand-made-policy.ts';

function outcome(method: string, url: string, repos: readonly string[] = ['acme/widgets']): string {
  const run = (): string =>
    decide(githubPolicy, sandboxWith({ repos }), canonicalOf(method, url), new HeaderList()).credential ?? 'anonymous';
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

describe('what cannot be tied to a repository is read as anybody reads it, or not done', () => {
  test.each([
    ['GET', `${api}/user`],
    ['GET', `${api}/search/code?q=x`],
    ['GET', `${api}/repositories/1234`],
    ['GET', `${api}/repos/acme`],
    ['GET', `${site}/`],
    ['GET', `${site}/stranger/project`],
    ['GET', `${site}/acme/widgets/archive/main.tar.gz`],
    ['GET', 'https://codeload.github.com/stranger/project/tar.gz/main'],
    ['GET', 'https://raw.githubusercontent.com/acme/widgets/main/README.md'],
    ['GET', 'https://gist.github.com/someone/abc'],
    ['GET', `${enterprise}/api/v3/user`],
  ])('%s %s goes without a credential', (method, url) => {
    expect(outcome(method, url)).toBe('anonymous');
  });

  test.each([
    ['POST', `${api}/graphql`],
    ['POST', `${api}/gists`],
    ['POST', `${api}/user/repos`],
    ['PATCH', `${api}/repositories/1234`],
    ['POST', `${enterprise}/api/graphql`],
    ['POST', `${enterprise}/api/v3/user/repos`],
    ['POST', `${enterprise}/api/uploads/repos/acme/widgets/releases/1/assets`],
    ['POST', `${site}/session`],
    ['POST', 'https://uploads.github.com/repos/acme/widgets/releases/1/assets'],
    ['PUT', 'https://objects.githubusercontent.com/x'],
    ['PUT', `${api}/repos/acme/widgets/contents/README.md`],
    ['POST', `${api}/repos/acme/widgets/git/refs`],
    ['PATCH', `${api}/repos/acme/widgets/git/refs/heads/main`],
    ['POST', `${api}/repos/acme/widgets/merges`],
    ['POST', `${api}/repos/acme/widgets/pulls/7/reviews`],
    ['PUT', `${api}/repos/acme/widgets/pulls/7/update-branch`],
    ['POST', `${api}/repos/acme/widgets/forks`],
    ['POST', `${api}/repos/acme/widgets/dispatches`],
    ['PATCH', `${api}/repos/acme/widgets`],
    ['DELETE', `${api}/repos/acme/widgets/issues/comments/1`],
    ['POST', `${api}/repos/acme/widgets/issues/7x/comments`],
  ])('%s %s is refused', (method, url) => {
    expect(outcome(method, url)).toBe('repo.operation-not-judged');
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
