import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const repo = '/repos/acme/widgets';
const body = { message: 'm', content: '', branch: 'sandbox/work' };
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

describe('a protected path is not written by the contents API', () => {
  test.each([
    '.github/workflows/ci.yml',
    '.github/workflows/deep/er/x.yml',
    '.GitHub/Workflows/CI.yml',
    '%2egithub/workflows/ci.yml',
    '%2e%67ithub/work%66lows/ci.yml',
    '.github%2Fworkflows%2Fci.yml',
    '.github/workflows%2fci.yml',
    '.github/workflows/ci.yml/',
    // A file in the place of the directory takes away what is in it.
    '.github/workflows',
    '.github',
  ])('%s', async (path) => {
    for (const method of ['PUT', 'DELETE']) {
      await ground.expectRefused({ method, target: `${repo}/contents/${path}`, body }, 'push.protected-path');
    }
  });

  test.each([
    ['.github/./workflows/ci.yml', 'malformed.path'],
    ['.github//workflows/ci.yml', 'malformed.path'],
    ['x/../.github/workflows/ci.yml', 'malformed.path'],
    ['x/%2e%2e/.github/workflows/ci.yml', 'malformed.path'],
    ['%252egithub/workflows/ci.yml', 'malformed.path'],
    ['.github%5Cworkflows%5Cci.yml', 'malformed.path'],
    ['.github/workflows;x/ci.yml', 'repo.operation-not-judged'],
    ['.github/workflows/ci.yml%00', 'malformed.path'],
  ])('%s could be it, and is refused', async (path, code) => {
    await ground.expectRefused({ method: 'PUT', target: `${repo}/contents/${path}`, body }, code);
  });

  test('a path in the body does not stand for the one in the address', async () => {
    const call = {
      method: 'PUT',
      target: `${repo}/contents/.github/workflows/x.yml`,
      body: { ...body, path: 'README.md' },
    };
    await ground.expectRefused(call, 'push.protected-path');
  });

  test('neighbours are written, so that the above means something', async () => {
    for (const path of [
      '.github/CODEOWNERS',
      'github/workflows/ci.yml',
      'docs/.github/workflows/ci.yml',
      '.githubber',
    ]) {
      await ground.expectPassed({ method: 'PUT', target: `${repo}/contents/${path}`, body });
    }
  });
});

describe('a branch does not move to a commit whose history changes a workflow', () => {
  const files = { '.github/workflows/evil.yml': 'on: push\n' };

  /** A commit as the git-data API makes them: on the server, and no branch has it. */
  async function loose(changes: readonly Record<string, string | null>[]): Promise<string> {
    let at = await ground.bare.git('rev-parse', 'refs/heads/sandbox/work');
    for (const change of changes)
      at = await ground.bare.commit({ branch: 'refs/loose/x', parents: [at], files: change });
    await ground.bare.git('update-ref', '-d', 'refs/loose/x');
    return at;
  }

  async function expectBothRefused(sha: string): Promise<void> {
    const moved = { method: 'PATCH', target: `${repo}/git/refs/heads/sandbox/work`, body: { sha } };
    await ground.expectRefused(moved, 'push.protected-path');
    const made = { method: 'POST', target: `${repo}/git/refs`, body: { ref: 'refs/heads/sandbox/made', sha } };
    await ground.expectRefused(made, 'push.protected-path');
    const tagged = { method: 'POST', target: `${repo}/git/refs`, body: { ref: 'refs/tags/v9', sha } };
    await ground.expectRefused(tagged, 'push.protected-path');
  }

  test('whose tip changes it', async () => {
    await expectBothRefused(await loose([files]));
  });

  test('which changes it and takes it back', async () => {
    await expectBothRefused(await loose([files, { '.github/workflows/evil.yml': null }]));
  });

  test('which changes it below another commit', async () => {
    await expectBothRefused(await loose([files, { 'innocent.txt': 'x' }]));
  });

  test('which has it in another case', async () => {
    await expectBothRefused(await loose([{ '.GITHUB/Workflows/evil.yml': 'x' }]));
  });

  test('a commit that changes something else passes, so that the above means something', async () => {
    const sha = await loose([{ 'src/fine.txt': 'x' }]);
    await ground.expectPassed({ method: 'PATCH', target: `${repo}/git/refs/heads/sandbox/work`, body: { sha } });
  });
});

describe('nor does a merge bring one in', () => {
  test.each(['sandbox/other', 'feature', '1'.repeat(40), 'refs/tags/main', 'stranger:main'])(
    'from %s',
    async (head) => {
      const call = { method: 'POST', target: `${repo}/merges`, body: { base: 'sandbox/work', head } };
      await ground.expectRefused(call, /^push\.(?:protected-path|undecided)$/);
    },
  );

  test('nor the upstream of a fork, nor a fix that GitHub commits itself', async () => {
    for (const path of ['/merge-upstream', '/code-scanning/alerts/7/autofix/commits']) {
      const call = {
        method: 'POST',
        target: `${repo}${path}`,
        body: { branch: 'sandbox/work', target_ref: 'refs/heads/x' },
      };
      await ground.expectRefused(call, 'repo.operation-not-judged');
    }
  });

  test('loose blobs, trees and commits are stored: no branch has them', async () => {
    for (const path of ['/git/blobs', '/git/trees', '/git/commits', '/git/tags']) {
      const seen = await ground.expectPassed({ method: 'POST', target: `${repo}${path}`, body: { message: 'x' } });
      expect(seen.url).toBe(`${repo}${path}`);
    }
  });
});
