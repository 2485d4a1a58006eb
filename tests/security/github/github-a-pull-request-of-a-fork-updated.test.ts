import { afterAll, beforeAll, describe, test } from 'vitest';
import { type GithubAttackGround, openGithubGround, type ScriptedReply } from './github-attack-ground.ts';

const repo = '/repos/acme/widgets';
let ground: GithubAttackGround;

function pull(headRepository: string | null, head: string, base: string): ScriptedReply {
  const headRepo = headRepository === null ? null : { full_name: headRepository };
  return { status: 200, body: { head: { ref: head, repo: headRepo }, base: { ref: base } } };
}

beforeAll(async () => {
  const replies: Record<string, ScriptedReply> = {
    [`GET ${repo}/pulls/1`]: pull('Acme/Widgets', 'sandbox/work', 'main'),
    [`GET ${repo}/pulls/2`]: pull('stranger/widgets', 'sandbox/work', 'main'),
    [`GET ${repo}/pulls/3`]: pull(null, 'sandbox/work', 'main'),
    [`GET ${repo}/pulls/4`]: pull('acme/widgets', 'main', 'develop'),
    [`GET ${repo}/pulls/5`]: pull('acme/widgets', 'sandbox/work', 'sandbox/evil'),
    [`GET ${repo}/pulls/6`]: { status: 301, headers: { location: 'https://api.github.com/repositories/99/pulls/6' } },
    [`GET ${repo}/pulls/7`]: { status: 404 },
    [`GET ${repo}/pulls/8`]: { status: 200, body: { head: { ref: 'sandbox/work' }, base: 'main' } },
    [`GET ${repo}/pulls/9`]: { status: 200, body: 'sandbox/work' },
  };
  ground = await openGithubGround({ replies });
});

afterAll(() => ground.stop());

describe('the branch of a pull request takes over its base only where the sandbox could have pushed that', () => {
  test.each([
    [2, 'is from a fork', 'push.undecided'],
    [3, 'has lost its repository', 'push.undecided'],
    [4, 'is from a protected branch', 'push.protected-branch'],
    [5, 'is to a branch that could hold a changed workflow', 'push.protected-path'],
    [6, 'is elsewhere now', /^push\./],
    [7, 'is not there', /^push\./],
    [8, 'is told in another form', /^(?:push|upstream)\./],
    [9, 'is told as something else', /^(?:push|upstream)\./],
  ])('number %i %s', async (number, _, code) => {
    const call = { method: 'PUT', target: `${repo}/pulls/${number}/update-branch`, body: {} };
    await ground.expectRefused(call, code);
  });

  test('number 1 is its own, and passes, with and without a body', async () => {
    const target = `${repo}/pulls/1/update-branch`;
    await ground.expectPassed({ method: 'PUT', target, body: { expected_head_sha: ground.main } });
    await ground.expectPassed({ method: 'PUT', target });
  });
});
