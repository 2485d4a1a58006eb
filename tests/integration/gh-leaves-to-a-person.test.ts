import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefused, type GhGround, openGhGround } from '../support/fake-github-ground.ts';

let ground: GhGround;

beforeAll(async () => {
  ground = await openGhGround();
});

afterAll(() => ground.stop());

/** The words of gh are put before ours, and how depends on the command. */
function effect(asked: string, name: string): { says: string; code: string } {
  return { says: `${asked} is not allowed: its effect is "${name}" (`, code: 'github.effect' };
}

const graphql = (mutation: string, name: string) => effect(`the mutation ${mutation}`, name);
const rest = (call: string, name: string) => effect(call.replace('REPO', '/repos/acme/widgets'), name);
const blocked = (call: string) => ({
  says: `HTTP 403: ${call.replace('REPO', '/repos/acme/widgets')} is blocked by policy. It matches `,
  code: 'policy.blocked-api',
});

const agent = { says: 'its effect is "agent"', code: 'github.effect' };

const repo = '-R acme/widgets';
const refused = [
  [`pr merge 2 --merge ${repo}`, graphql('mergePullRequest', 'merge')],
  [`pr merge 2 --squash --auto ${repo}`, graphql('mergePullRequest', 'merge')],
  [`pr merge 2 --squash --delete-branch ${repo}`, graphql('mergePullRequest', 'merge')],
  [`pr merge 2 --rebase --admin ${repo}`, graphql('mergePullRequest', 'merge')],
  [`pr merge 2 --disable-auto ${repo}`, graphql('disablePullRequestAutoMerge', 'merge')],
  [`pr review 2 --approve ${repo}`, graphql('addPullRequestReview', 'approve')],
  [`issue delete 1 --yes ${repo}`, graphql('deleteIssue', 'settings')],
  [`release create v2 --notes text ${repo}`, blocked('POST REPO/releases')],
  [`release delete v1.0.0 --yes ${repo}`, rest('DELETE REPO/releases/601', 'release')],
  [`release edit v1.0.0 --draft ${repo}`, rest('PATCH REPO/releases/601', 'release')],
  [`release upload v1.0.0 asset.txt ${repo}`, rest('POST REPO/releases/601/assets', 'release')],
  ['repo delete acme/widgets --yes', blocked('DELETE REPO')],
  ['repo edit acme/widgets --visibility public', rest('PATCH REPO', 'settings')],
  ['repo edit acme/widgets --enable-auto-merge', rest('PATCH REPO', 'settings')],
  [`repo rename other --yes ${repo}`, rest('PATCH REPO', 'settings')],
  ['repo archive acme/widgets --yes', graphql('archiveRepository', 'delete-repository')],
  ['repo fork acme/widgets --clone=false', rest('POST REPO/forks', 'create-repository')],
  ['repo create acme/new --private', graphql('createRepository', 'create-repository')],
  [`repo deploy-key list ${repo}`, rest('GET REPO/keys', 'read-sensitive')],
  [`secret list ${repo}`, rest('GET REPO/actions/secrets', 'read-sensitive')],
  [`secret set TOKEN --body text ${repo}`, rest('GET REPO/actions/secrets/public-key', 'read-sensitive')],
  [`secret delete TOKEN ${repo}`, rest('DELETE REPO/actions/secrets/TOKEN', 'secrets')],
  [`workflow disable ci.yml ${repo}`, rest('PUT REPO/actions/workflows/31/disable', 'workflow')],
  [`workflow enable ci.yml ${repo}`, rest('PUT REPO/actions/workflows/31/enable', 'workflow')],
  [`workflow run ci.yml ${repo}`, rest('POST REPO/actions/workflows/31/dispatches', 'dispatch')],
  [`run cancel 501 ${repo}`, rest('POST REPO/actions/runs/501/cancel', 'dispatch')],
  // gh puts words of its own in the place of any 403 here.
  [`run rerun 501 ${repo}`, { says: 'run 501 cannot be rerun', code: 'github.effect' }],
  ['gist create asset.txt', rest('POST /gists', 'gist')],
  ['ssh-key add asset.txt --title key', rest('POST /user/keys', 'user')],
  ['ssh-key list', rest('GET /user/keys', 'read-account')],
  ['codespace list', rest('GET /user/codespaces', 'codespace')],
  [
    'api -X DELETE repos/acme/widgets',
    { says: 'DELETE /repos/acme/widgets is blocked by policy', code: 'policy.blocked-api' },
  ],
  ['api -X PATCH repos/acme/widgets -F private=false', rest('PATCH REPO', 'settings')],
  ['api -X PUT repos/acme/widgets/pulls/2/merge', { says: 'merge is blocked by policy', code: 'policy.blocked-api' }],
  [
    'api repos/acme/widgets/merges -f base=main -f head=sandbox/grease',
    { says: 'main is a protected branch', code: 'push.protected-branch' },
  ],
  [`issue comment 1 --body @copilot ${repo}`, agent],
  [`pr comment 2 --body @claude ${repo}`, agent],
  [`pr review 2 --comment --body @codex ${repo}`, agent],
  [`issue create --title @copilot --body x ${repo}`, agent],
  ['api repos/acme/widgets/issues/1/comments -f body=@copilot', agent],
  ['api repos/acme/widgets/pulls/2/requested_reviewers -f reviewers[]=copilot-pull-request-reviewer[bot]', agent],
  ['api repos/acme/widgets/dispatches -f event_type=go', rest('POST REPO/dispatches', 'dispatch')],
  ['api repos/acme/widgets/hooks -f name=web', rest('POST REPO/hooks', 'hooks')],
  [
    'api repos/acme/widgets/pulls/2/reviews -f event=APPROVE',
    { says: 'its effect is "approve"', code: 'github.effect' },
  ],
  ['api -X PUT repos/acme/widgets/collaborators/mallory', rest('PUT REPO/collaborators/mallory', 'collaborators')],
  [
    'api -X PUT repos/acme/widgets/contents/x -f message=x -f content=eA== -f branch=main',
    { says: 'main is a protected branch', code: 'push.protected-branch' },
  ],
  [
    'api repos/acme/widgets/git/refs -f ref=refs/heads/main -f sha=a1b2c3d4e5f60718293a4b5c6d7e8f9001122334',
    { says: 'main is a protected branch', code: 'push.protected-branch' },
  ],
] as const;

describe('what a person must decide, gh is refused in words that say so', () => {
  test.each(refused)('gh %s', async (command, expected) => {
    await expectRefused(ground, command.split(' '), expected);
  });

  test('a refusal by REST is shown as HTTP 403 with the reason and what to do', async () => {
    const command = ['repo', 'edit', 'acme/widgets', '--description', 'text'];
    const run = await expectRefused(ground, command, {
      says: 'HTTP 403: PATCH /repos/acme/widgets',
      code: 'github.effect',
    });
    expect(run.stderr).toContain('Ask a person to do it. The operator can allow it');
  });

  test('a refusal by GraphQL is shown with the reason and what to do', async () => {
    const expected = { says: 'its effect is "merge" (merge a pull request, now or later)', code: 'github.effect' };
    const run = await expectRefused(ground, ['pr', 'merge', '2', '--merge', '-R', 'acme/widgets'], expected);
    expect(run.stderr).toContain('Ask a person to do it. The operator can allow');
  });

  test('a branch is not deleted along with a pull request that is closed', async () => {
    const { github, bare } = ground;
    const [, pull] = github.state.find('acme', 'widgets')!.items;
    const run = await ground.gh(['pr', 'close', '2', '--delete-branch', '-R', 'acme/widgets']);
    expect(run.stderr).toContain('HTTP 403: this push would delete the branch sandbox/grease. ');
    expect(run.code).toBe(1);
    expect(pull!.state).toBe('CLOSED');
    expect(github.writes.filter(({ method }) => method === 'DELETE')).toEqual([]);
    expect(await bare.tip('sandbox/grease')).not.toBeNull();
    pull!.state = 'OPEN';
  });

  test.each([
    ['mergePullRequest', 'pullRequestId', 'merge'],
    ['enablePullRequestAutoMerge', 'pullRequestId', 'merge'],
    ['dismissPullRequestReview', 'pullRequestReviewId', 'approve'],
    ['updateBranchProtectionRule', 'branchProtectionRuleId', 'protection'],
  ])('api graphql with the mutation %s', async (name, field, effectName) => {
    const [, pull] = ground.github.state.find('acme', 'widgets')!.items;
    const query = `mutation { again: ${name}(input: {${field}: "${pull!.id}"}) { clientMutationId } }`;
    await expectRefused(ground, ['api', 'graphql', '-f', `query=${query}`], graphql(name, effectName));
  });
});

describe('what the operator’s patterns do not block, its effect still does', () => {
  let bare: GhGround;

  beforeAll(async () => {
    bare = await openGhGround({ policy: { blocked_api_patterns: {} } });
  });

  afterAll(() => bare.stop());

  test.each([
    ['repo delete acme/widgets --yes', rest('DELETE REPO', 'delete-repository')],
    [`release create v2 --notes text ${repo}`, rest('POST REPO/releases', 'release')],
    ['api -X PUT repos/acme/widgets/pulls/2/merge', rest('PUT REPO/pulls/2/merge', 'merge')],
  ])('gh %s', async (command, expected) => {
    await expectRefused(bare, command.split(' '), expected);
  });
});

describe('what an operator allows, gh does', () => {
  test('a merge, where the policy allows merging', async () => {
    const open = await openGhGround({ github: { effects: { bot: { allow: ['merge'] } } } });
    try {
      const run = await open.gh(['pr', 'merge', '2', '--merge', '-R', 'acme/widgets']);
      expect(run).toMatchObject({ code: 0 });
      expect(open.github.state.find('acme', 'widgets')!.items[1]!.state).toBe('MERGED');
    } finally {
      await open.stop();
    }
  });
});
