import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiCall, type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const repo = '/repos/acme/widgets';
const file = { message: 'm', content: '' };
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

function commitOn(branchName: string, path: string, kind: 'additions' | 'deletions' = 'additions'): ApiCall {
  const query =
    'mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { clientMutationId } }';
  const one = kind === 'additions' ? { path, contents: '' } : { path };
  const branch = { repositoryNameWithOwner: 'acme/widgets', branchName };
  const input = { branch, message: { headline: 'm' }, expectedHeadOid: ground.main, fileChanges: { [kind]: [one] } };
  return { method: 'POST', target: '/graphql', body: { query, variables: { input } } };
}

// GitHub takes each of these for main, or for a commit.
const branches = [
  'heads/main',
  'Heads/main',
  'refs/heads/main',
  'REFS/heads/main',
  'refs/heads/sandbox/work',
  'remotes/origin/main',
  'tags/v1',
  'main~0',
  'main^{commit}',
  'main^0',
  'main ',
  ' main',
  'main\u00a0',
  'main\n',
  'main\u0000',
  'ma\u200bin',
  'x@{0}',
  '@{-1}',
  '@',
  'HEAD',
  'head',
  'FETCH_HEAD',
  'a'.repeat(40),
  '/main',
  'main/',
  'a//main',
  './main',
  'a/../main',
  'a\\main',
  ':main',
  '-main',
];

const paths = [
  '.github//workflows/x.yml',
  './.github/workflows/x.yml',
  '.github/./workflows/x.yml',
  'a/../.github/workflows/x.yml',
  '/.github/workflows/x.yml',
  '//.github/workflows/x.yml',
  '.github/workflows/x.yml/',
  '.github\\workflows\\x.yml',
  '.github/workflows/x.yml\u0000',
  '.git\u200chub/workflows/x.yml',
  ' .github/workflows/x.yml',
  'docs/x.md ',
  'docs//x.md',
  '..',
  '.',
  '/',
];

describe('a branch has one name', () => {
  test.each(branches)('%j is refused wherever a short name is expected', async (name) => {
    for (const call of [
      commitOn(name, 'docs/x.md'),
      { method: 'PUT', target: `${repo}/contents/docs/x.md`, body: { ...file, branch: name } },
      { method: 'DELETE', target: `${repo}/contents/docs/x.md`, body: { ...file, branch: name } },
      { method: 'POST', target: `${repo}/merges`, body: { base: name, head: 'main' } },
      { method: 'POST', target: `${repo}/merges`, body: { base: 'sandbox/work', head: name } },
      { method: 'POST', target: `${repo}/git/refs`, body: { ref: `refs/heads/${name}`, sha: ground.main } },
      { method: 'POST', target: `${repo}/pulls`, body: { title: 't', base: name, head: 'sandbox/work' } },
      { method: 'POST', target: `${repo}/pulls`, body: { title: 't', base: 'main', head: `acme:${name}` } },
    ]) {
      const { text } = await ground.expectRefused(call, /^(?:push\.undecided|github\.graphql|repo\.not-allowed)$/);
      expect(text).toMatch(
        /plain name of the branch|whole name of the ref|which repository the pull request comes from/,
      );
    }
  });

  test('its plain name passes', async () => {
    for (const name of ['sandbox/work', 'feature-1', 'heads', 'refs', 'a@b', 'größe', 'headless', 'abc123']) {
      await ground.expectPassed(commitOn(name, 'docs/x.md'));
      await ground.expectPassed({
        method: 'PUT',
        target: `${repo}/contents/docs/x.md`,
        body: { ...file, branch: name },
      });
      await ground.expectPassed({
        method: 'POST',
        target: `${repo}/pulls`,
        body: { title: 't', base: 'main', head: name },
      });
    }
    await ground.expectRefused(commitOn('main', 'docs/x.md'), 'push.protected-branch');
  });
});

describe('a file has one path', () => {
  test.each(paths)('%j is refused', async (path) => {
    for (const call of [
      commitOn('sandbox/work', path),
      commitOn('sandbox/work', path, 'deletions'),
      { method: 'POST', target: `${repo}/git/trees`, body: { tree: [{ path, mode: '100644', content: '' }] } },
    ]) {
      const { text } = await ground.expectRefused(call, /^(?:push\.undecided|github\.graphql)$/);
      expect(text).toContain('plain path from the top');
    }
  });

  test('its plain path passes', async () => {
    for (const path of ['docs/x.md', '.editorconfig', 'a b/c d.txt', '...', 'größe.txt', '.github/CODEOWNERS.md']) {
      await ground.expectPassed(commitOn('sandbox/work', path));
      const tree = [{ path, mode: '100644', content: '' }];
      await ground.expectPassed({
        method: 'POST',
        target: `${repo}/git/trees`,
        body: { base_tree: ground.main, tree },
      });
    }
    await ground.expectRefused(commitOn('sandbox/work', '.github/workflows/x.yml'), 'push.protected-path');
  });
});
