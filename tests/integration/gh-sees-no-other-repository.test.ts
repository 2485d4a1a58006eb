import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefused, type GhGround, openGhGround } from '../support/fake-github-ground.ts';
import { nodeId } from '../support/fake-github-state.ts';

let ground: GhGround;

beforeAll(async () => {
  ground = await openGhGround();
});

afterAll(() => ground.stop());

const notItsOwn = { says: 'other/private is not ', code: 'repo.not-allowed' };
const unbound = { says: 'this search is not bound to one repository', code: 'github.graphql' };

/** Nothing that only a login for the foreign repository could show. */
function expectNothingForeign(text: string): void {
  expect(text).not.toMatch(/foreign|Nobody outside/i);
}

describe('gh sees nothing of a repository that is not the sandbox’s', () => {
  test.each([
    'pr list -R other/private',
    'pr list -R other/private --search secret',
    'pr view 2 -R other/private',
    'pr diff 2 -R other/private',
    'pr create -R other/private --head sandbox/x --title x --body x',
    'pr merge 2 --merge -R other/private',
    'issue list -R other/private',
    'issue view 1 -R other/private',
    'issue create -R other/private --title x --body x',
    'issue comment 1 -R other/private --body x',
    'repo view other/private',
    'repo clone other/private',
    'run list -R other/private',
    'release list -R other/private',
    'release view v9.9.9 -R other/private',
    'api repos/other/private',
    'api repos/OTHER/Private',
    'api repos/other/private/issues --paginate',
    'api repos/other/private/issues -f title=x',
  ])('gh %s', async (command) => {
    const run = await expectRefused(ground, command.split(' '), notItsOwn);
    // pr merge asks what fields a pull request has before it asks for one.
    const asked = ground.github.seen.filter(({ operation }) => operation !== 'query PullRequest_fields');
    expect(asked).toEqual([]);
    expect(ground.git.requests).toEqual([]);
    expectNothingForeign(run.stdout + run.stderr);
  });

  test('an issue is not moved there', async () => {
    await expectRefused(ground, ['issue', 'transfer', '1', 'other/private', '-R', 'acme/widgets'], notItsOwn);
  });

  test.each([
    ['one search', 'search(query: "secret", type: ISSUE, first: 9) { nodes { ... on Issue { title } } }', unbound],
    [
      'a search for two repositories',
      'search(query: "repo:acme/widgets repo:other/private", type: ISSUE, first: 9) { nodes { ... on Issue { title } } }',
      unbound,
    ],
    ['the repository by name', 'repository(owner: "other", name: "private") { name }', notItsOwn],
    [
      'all that the account has',
      'viewer { repositories(first: 9) { nodes { name } } }',
      { says: 'User.repositories cannot be selected', code: 'github.graphql' },
    ],
  ])('api graphql with %s', async (_name, fields, expected) => {
    const run = await expectRefused(ground, ['api', 'graphql', '-f', `query={ ${fields} }`], expected);
    expect(ground.github.seen).toEqual([]);
    expectNothingForeign(run.stdout + run.stderr);
  });

  test.each([
    ['repo list', 'User.repositories cannot be selected'],
    ['repo list other', 'repositoryOwner is not one that a sandbox may ask for'],
    ['gist list', 'User.gists cannot be selected'],
  ])('gh %s', async (command, says) => {
    await expectRefused(ground, command.split(' '), { says, code: 'github.graphql' });
    expect(ground.github.seen).toEqual([]);
  });

  test.each(['api user/repos', 'api notifications', 'api user/issues'])('gh %s', async (command) => {
    const expected = { says: 'its effect is "read-account"', code: 'github.effect' };
    await expectRefused(ground, command.split(' '), expected);
    expect(ground.github.seen).toEqual([]);
  });

  test.each(['search issues secret --repo other/private', 'search prs secret', 'search repos secret --owner other'])(
    'gh %s goes out as anybody’s, without the token',
    async (command) => {
      ground.github.forget();
      const run = await ground.gh(command.split(' '));
      expectNothingForeign(run.stdout);
      expect(ground.github.seen.map(({ login }) => login)).toEqual([null]);
    },
  );

  test('a repository that is named by its number is not shown, and its name is not told', async () => {
    const expected = { says: 'is not among the repositories of', code: 'repo.not-allowed' };
    const run = await expectRefused(ground, ['api', 'repositories/815/issues'], expected);
    // The gateway's own question, and nothing after it.
    expect(ground.github.seen.map(({ url }) => url)).toEqual(['/repositories/815']);
    expect(run.stderr).not.toContain('other/private');
    // Nor whether there is one at all.
    const none = await expectRefused(ground, ['api', 'repositories/816/issues'], expected);
    expect(run.stderr).toBe(none.stderr.replaceAll('816', '815'));
  });

  test.each([
    ['read', (id: string) => `{ node(id: "${id}") { ... on Issue { title } } }`],
    ['closed', (id: string) => `mutation { closeIssue(input: {issueId: "${id}"}) { clientMutationId } }`],
  ])('what is named by its node id is not %s, and where it is is not told', async (_deed, document) => {
    const refusedFor = (id: string) => {
      const expected = { says: `the node ${id} `, code: 'github.node' };
      return expectRefused(ground, ['api', 'graphql', '-f', `query=${document(id)}`], expected);
    };
    const { id } = ground.github.state.find('other', 'private')!.items[0]!;
    const run = await refusedFor(id);
    expect(ground.github.seen).toEqual([]);
    expectNothingForeign(run.stdout + run.stderr);
    expect(run.stderr).not.toContain('other/private');
    // Nor whether there is one at all.
    const nowhere = nodeId('I', 816, 1);
    const none = await refusedFor(nowhere);
    expect(run.stderr).toBe(none.stderr.replaceAll(nowhere, id));
  });
});
