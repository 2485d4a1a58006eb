import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const pull = '/repos/acme/widgets/pulls/7';
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround({ replies: {}, config: {} });
});

afterAll(() => ground.stop());

describe('no issue, review or task is given to an agent of GitHub, which would work with rights of its own', () => {
  test.each([
    ['POST', '/repos/acme/widgets/issues', { title: 'x', assignees: ['copilot-swe-agent[bot]'] }],
    ['POST', '/repos/acme/widgets/issues', { title: 'x', assignee: 'Copilot' }],
    ['POST', '/repos/acme/widgets/issues', { title: 'x', agent_assignment: { target_repo: 'acme/widgets' } }],
    ['POST', '/repos/acme/widgets/issues', { title: 'x', assignees: [{ login: 'copilot-swe-agent[bot]' }] }],
    ['PATCH', '/repos/acme/widgets/issues/7', { assignees: ['ann', 'any[bot]'] }],
    ['POST', '/repos/acme/widgets/issues/7/assignees', { assignees: 'copilot' }],
    ['POST', `${pull}/requested_reviewers`, { reviewers: ['ann', 'copilot-pull-request-reviewer[bot]'] }],
    ['POST', `${pull}/requested_reviewers`, { reviewers: ['Copilot'] }],
    ['POST', `${pull}/requested_reviewers`, { reviewers: '@copilot' }],
    ['POST', `${pull}/requested_reviewers`, { reviewers: [['any[bot]']] }],
    ['POST', `${pull}/requested_reviewers`, { team_reviewers: ['copilot-reviewers'] }],
    ['POST', '/agents/repos/acme/widgets/tasks', { problem_statement: 'x' }],
  ])('%s %s %j', async (method, target, body) => {
    await ground.expectRefused({ method, target, body }, 'github.effect');
    expect(ground.api.seen).toEqual([]);
  });

  test('a person may be given one', async () => {
    const body = { title: 'x', assignees: ['ann', 'bottom'] };
    await ground.expectPassed({ method: 'POST', target: '/repos/acme/widgets/issues', body });
  });

  test('and people and teams may be asked for a review', async () => {
    const body = { reviewers: ['ann', 'bottom'], team_reviewers: ['justice-league'] };
    await ground.expectPassed({ method: 'POST', target: `${pull}/requested_reviewers`, body });
  });
});
