import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const repo = '/repos/acme/widgets';
const file = { message: 'm', content: '' };
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

describe('a protected branch is not written by any call of the API', () => {
  test.each(['main', 'master', 'MAIN', 'Main'])('not as %s', async (branch) => {
    for (const method of ['PUT', 'DELETE']) {
      const call = { method, target: `${repo}/contents/README.md`, body: { ...file, branch } };
      await ground.expectRefused(call, 'push.protected-branch');
    }
    const base = { method: 'POST', target: `${repo}/merges`, body: { base: branch, head: 'main' } };
    await ground.expectRefused(base, 'push.protected-branch');
    const name = branch;
    const sha = ground.main;
    await ground.expectRefused(
      { method: 'PATCH', target: `${repo}/git/refs/heads/${name}`, body: { sha } },
      /^push\.(?:protected-branch|undecided)$/,
    );
    await ground.expectRefused({ method: 'DELETE', target: `${repo}/git/refs/heads/${name}` }, 'push.protected-branch');
    const ref = `refs/heads/${name}`;
    await ground.expectRefused(
      { method: 'POST', target: `${repo}/git/refs`, body: { ref, sha } },
      'push.protected-branch',
    );
    await ground.expectRefused(
      { method: 'POST', target: `${repo}/branches/${name}/rename`, body: { new_name: 'mine' } },
      'push.protected-branch',
    );
    await ground.expectRefused(
      { method: 'POST', target: `${repo}/branches/sandbox/work/rename`, body: { new_name: name } },
      /^push\.(?:protected-branch|deletion)$/,
    );
  });

  test.each([
    ['no branch at all, which means the default branch', file],
    ['null', { ...file, branch: null }],
    ['an empty name', { ...file, branch: '' }],
    ['a list', { ...file, branch: ['main'] }],
    ['an object', { ...file, branch: { name: 'main' } }],
    ['a ref outside the branches', { ...file, branch: 'refs/tags/v1' }],
    ['refs/heads/ before it', { ...file, branch: 'refs/heads/main' }],
    ['refs/heads/ twice', { ...file, branch: 'refs/heads/refs/heads/main' }],
    ['heads/', { ...file, branch: 'refs/main' }],
    ['HEAD', { ...file, branch: 'HEAD' }],
    ['a space before it', { ...file, branch: ' main' }],
    ['a line feed behind it', { ...file, branch: 'main\n' }],
    ['a NUL behind it', { ...file, branch: 'main\u0000' }],
    ['an expression', { ...file, branch: 'main~0' }],
    ['another', { ...file, branch: 'main@{0}' }],
    ['other keys than the one GitHub reads', { ...file, Branch: 'sandbox/work' }],
  ])('a file written to %s is refused', async (_, body) => {
    await ground.expectRefused({ method: 'PUT', target: `${repo}/contents/README.md`, body }, /^push\./);
    await ground.expectRefused({ method: 'DELETE', target: `${repo}/contents/README.md`, body }, /^push\./);
  });

  test.each([
    ['heads%2Fmain', 'push.protected-branch'],
    ['heads/m%61in', 'push.protected-branch'],
    ['heads/main/', 'push.protected-branch'],
    ['heads/main;x', 'repo.operation-not-judged'],
    ['heads/main%3Bx', 'repo.operation-not-judged'],
    ['HEADS/main', 'push.namespace'],
    ['refs/heads/main', 'push.namespace'],
    ['pull/7/head', 'push.namespace'],
    ['heads//main', 'malformed.path'],
    ['heads/x/../main', 'malformed.path'],
    ['heads/x/%2e%2e/main', 'malformed.path'],
    ['heads/%2e/main', 'malformed.path'],
    ['heads/m%2561in', 'malformed.path'],
    ['heads\\main', 'malformed.path'],
  ])('git/refs/%s is refused', async (ref, code) => {
    await ground.expectRefused({ method: 'DELETE', target: `${repo}/git/refs/${ref}` }, code);
  });

  test('POST in the place of PATCH, which GitHub once took for the same, is refused', async () => {
    const body = { sha: ground.main };
    for (const method of ['POST', 'PUT']) {
      const call = { method, target: `${repo}/git/refs/heads/sandbox/work`, body };
      await ground.expectRefused(call, 'repo.operation-not-judged');
    }
  });
});

describe('what is not protected is written, so that the above means something', () => {
  test('a file on a branch of its own', async () => {
    const body = { ...file, branch: 'sandbox/work' };
    const seen = await ground.expectPassed({ method: 'PUT', target: `${repo}/contents/README.md`, body });
    expect(JSON.parse(seen.body)).toEqual(body);
  });

  test('a new branch at a commit that is there, and a branch that moves forward', async () => {
    const sha = ground.main;
    await ground.expectPassed({
      method: 'POST',
      target: `${repo}/git/refs`,
      body: { ref: 'refs/heads/sandbox/new', sha },
    });
    const next = await ground.bare.commit({
      branch: 'elsewhere',
      parents: [await tip('sandbox/work')],
      files: { b: 'b' },
    });
    await ground.expectPassed({ method: 'PATCH', target: `${repo}/git/refs/heads/sandbox/work`, body: { sha: next } });
  });

  test('main merged into a branch of its own', async () => {
    await ground.expectPassed({
      method: 'POST',
      target: `${repo}/merges`,
      body: { base: 'sandbox/work', head: 'main' },
    });
  });
});

function tip(branch: string): Promise<string> {
  return ground.bare.git('rev-parse', `refs/heads/${branch}`);
}

describe('history is not rewritten by the API', () => {
  const target = `${repo}/git/refs/heads/sandbox/work`;

  test('a branch does not move back or aside', async () => {
    await ground.expectRefused({ method: 'PATCH', target, body: { sha: ground.main } }, 'push.force');
    const aside = await ground.bare.commit({ branch: 'aside', parents: [ground.main], files: { c: 'c' } });
    await ground.expectRefused({ method: 'PATCH', target, body: { sha: aside } }, /^push\./);
  });

  test.each([true, 'true', 1, null, 'false', [], {}])('nor with force %o', async (force) => {
    await ground.expectRefused({ method: 'PATCH', target, body: { sha: ground.main, force } }, /^push\./);
  });

  test.each([
    ['no id', undefined],
    ['a short id', 'abcdef0'],
    ['the name of a branch', 'main'],
    ['a list', ['1'.repeat(40)]],
    ['zeros, which delete', '0'.repeat(40)],
    ['capitals', 'A'.repeat(40)],
    ['a commit that is not there', '1'.repeat(40)],
  ])('nor to %s', async (_, sha) => {
    await ground.expectRefused({ method: 'PATCH', target, body: { sha } }, /^push\./);
    await ground.expectRefused(
      { method: 'POST', target: `${repo}/git/refs`, body: { ref: 'refs/heads/n', sha } },
      /^push\./,
    );
  });

  test('a branch is not deleted, and a tag neither moved nor deleted', async () => {
    await ground.bare.git('tag', 'v1', ground.main);
    await ground.expectRefused({ method: 'DELETE', target }, 'push.deletion');
    await ground.expectRefused({ method: 'DELETE', target: `${repo}/git/refs/tags/v1` }, 'push.tag-moved');
    const moved = { method: 'PATCH', target: `${repo}/git/refs/tags/v1`, body: { sha: await tip('sandbox/work') } };
    await ground.expectRefused(moved, 'push.tag-moved');
  });
});
