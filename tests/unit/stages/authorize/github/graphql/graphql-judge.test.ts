import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../../src/path/refusal.ts';
import { renderGraphqlRefusal } from '../../../../../../src/stages/authorize/github/graphql/refuse-graphql.ts';
import { loadGraphqlTable } from '../../../../../../src/stages/authorize/github/operation-table.ts';
import { ask, ids, inRepository, sentBy } from './graphql-ask.ts';

describe('a query stays with the repositories of the sandbox', () => {
  test('a repository of the sandbox is read, by literals and by variables, in any case', async () => {
    const asked = await ask({
      query:
        'query Q($o: String!, $n: String = "R") { repository(owner: $o, name: $n) { issues(first: 1) { nodes { title } } } }',
      variables: { o: 'O' },
      operationName: 'Q',
    });
    expect(asked.verdict).toMatchObject({
      allowed: true,
      repositories: ['o/r'],
      effects: ['read'],
      asked: ['query repository'],
    });
  });

  test('another repository is refused by its name', async () => {
    expect((await ask('{ repository(owner: "o", name: "other") { id } }')).said).toMatch(
      /^repo\.not-allowed: o\/other /,
    );
  });

  test('a variable without value and default names no repository', async () => {
    const query = 'query($o: String!) { repository(owner: $o, name: "r") { id } }';
    expect((await ask(query)).said).toMatch(/does not name a repository/);
  });

  test('a repository is asked for under this very name, not under one it was renamed from', async () => {
    const query = '{ repository(owner: "o", name: "r", followRenames: true) { id } }';
    expect(sentBy(await ask(query)).query).toMatch(/name: "r", followRenames: false\)/);
  });

  test('reading needs the effect read', async () => {
    expect((await ask(inRepository('id'), { effects: ['issue'] })).said).toMatch(
      /^github\.effect: the query repository/,
    );
  });

  test('security alerts need the effect read-sensitive, also through a fragment on a node', async () => {
    const alerts = inRepository('vulnerabilityAlerts(first: 1) { totalCount }');
    const node = `{ node(id: "${ids.issue}") { ... on RepositoryVulnerabilityAlert { number } } }`;
    expect((await ask(alerts)).said).toMatch(/^github\.effect: .*read-sensitive/);
    expect((await ask(node)).said).toMatch(/^github\.effect: .*read-sensitive/);
    expect((await ask(alerts, { effects: ['read', 'read-sensitive'] })).said).toBe('allowed');
  });

  test('what the operator is told to write is for the mode of the sandbox, and can be written so', async () => {
    const alerts = inRepository('vulnerabilityAlerts(first: 1) { totalCount }');
    const merge = `mutation { mergePullRequest(input: { pullRequestId: "${ids.issue}" }) { clientMutationId } }`;
    for (const [query, effect] of [
      [alerts, 'read-sensitive'],
      [merge, 'merge'],
    ] as const) {
      for (const mode of ['bot', 'user'] as const) {
        const { verdict } = await ask(query, { mode });
        const { rule, hint } = verdict.allowed ? { rule: '', hint: '' } : verdict.refusal;
        expect(rule).toBe(`github.effects.${mode}`);
        expect(hint).toContain(`github: {effects: {${mode}: {allow: [${effect}]}}}`);
      }
    }
  });

  test('a field that is not in the table is refused by its name', async () => {
    expect((await ask(inRepository('shinyNewThing'))).said).toMatch(/Repository\.shinyNewThing cannot be selected/);
  });

  test('the viewer and other accounts show who they are and no more', async () => {
    expect(
      (
        await ask(
          '{ viewer { login id } user(login: "x") { id name } organization(login: "y") { team(slug: "t") { id slug } } }',
        )
      ).said,
    ).toBe('allowed');
    expect((await ask('{ viewer { repositories(first: 9) { nodes { name } } } }')).said).toMatch(/User\.repositories/);
    expect((await ask(`{ node(id: "${ids.user}") { ... on User { login } } }`)).said).toBe('allowed');
    expect((await ask(`{ node(id: "${ids.user}") { ... on User { email } } }`)).said).toMatch(/User\.email/);
  });

  test('the schema may be looked at', async () => {
    expect(
      (await ask('{ __typename __type(name: "Issue") { fields { name } } __schema { types { name } } }')).said,
    ).toBe('allowed');
  });

  test('what the table of roots refuses, the judge refuses', async () => {
    const roots = [...loadGraphqlTable().queries].filter(([, how]) => how === 'refused').map(([name]) => name);
    expect(roots.length).toBeGreaterThan(10);
    for (const name of roots)
      expect((await ask(`{ ${name} { id } }`)).said).toMatch(/is not one that a sandbox may ask for/);
  });
});

describe('a mutation is judged by its effect and its ids', () => {
  test('a comment on an issue of the sandbox passes, and every id in it is looked up', async () => {
    const asked = await ask({
      query: 'mutation($input: CreateIssueInput!) { createIssue(input: $input) { issue { url } } }',
      variables: {
        input: { repositoryId: ids.repository, title: 't', labelIds: [ids.label], assigneeIds: [ids.user] },
      },
    });
    expect(asked.said).toBe('allowed');
    expect(asked.looked).toEqual([ids.repository, ids.label]);
  });

  test('a bot is not made an assignee: it would begin to work', async () => {
    const input = { assignableId: ids.issue, assigneeIds: [ids.bot] };
    const query =
      'mutation($input: AddAssigneesToAssignableInput!) { addAssigneesToAssignable(input: $input) { clientMutationId } }';
    expect((await ask({ query, variables: { input } })).said).toMatch(/^github\.node: the node BOT_/);
  });

  test('a mutation that GitHub has and the table does not is refused', async () => {
    expect((await ask('mutation { brandNew(input: {}) { id } }')).said).toMatch(/the mutation brandNew is not known/);
  });

  test('a field of an input that is not in the table is refused', async () => {
    const query = `mutation { addComment(input: {subjectId: "${ids.issue}", body: "b", alsoOn: "x"}) { clientMutationId } }`;
    expect((await ask(query)).said).toMatch(/addComment\.input\.alsoOn is not known/);
  });

  test('one that names nothing of the sandbox is refused', async () => {
    expect((await ask('mutation { addComment(input: {body: "b"}) { clientMutationId } }')).said).toMatch(
      /^github\.node: /,
    );
  });

  test.each(['APPROVE', 'approve', 'DISMISS'])('a review with event %s approves', async (event) => {
    for (const name of ['addPullRequestReview', 'submitPullRequestReview']) {
      const query = `mutation($e: PullRequestReviewEvent!) { ${name}(input: {pullRequestId: "${ids.pull}", event: $e}) { clientMutationId } }`;
      expect((await ask({ query, variables: { e: event } })).said).toMatch(/^github\.effect: .*"approve"/);
    }
  });

  test('a pull request is not opened from the branch of a fork that is not of the sandbox', async () => {
    const open = (head: string) =>
      ask(
        `mutation { createPullRequest(input: {repositoryId: "${ids.repository}", baseRefName: "main", headRefName: "${head}", title: "t"}) { clientMutationId } }`,
      );
    expect((await open('f')).said).toBe('allowed');
    expect((await open('o:f')).said).toBe('allowed');
    expect((await open('other:f')).said).toMatch(/^repo\.not-allowed: other\/r/);
  });

  test('GitHub that cannot be asked is a refusal, not a pass', async () => {
    const query = `mutation { addComment(input: {subjectId: "${ids.issue}", body: "b"}) { clientMutationId } }`;
    const nodes = { look: () => Promise.reject(new Error('down')) };
    expect((await ask(query, { nodes })).said).toMatch(/^github\.node: GitHub could not be asked/);
  });
});

test('a refusal is shown as GraphQL shows its errors', () => {
  const answer = renderGraphqlRefusal(new Refusal('github.effect', 'no merging', { hint: 'Ask a person.' }), 'r-1');
  expect(answer.contentType).toMatch(/^application\/json/);
  expect(JSON.parse(Buffer.from(answer.body).toString('utf8'))).toMatchObject({
    errors: [
      {
        type: 'FORBIDDEN',
        message: 'no merging. Ask a person.',
        extensions: { code: 'github.effect', request_id: 'r-1' },
      },
    ],
  });
});
