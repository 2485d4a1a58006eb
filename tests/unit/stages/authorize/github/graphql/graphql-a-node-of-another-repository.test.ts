// Most mutations name what they change by a node id alone. Every id in them must be of a repository of the sandbox, in every
// form of id, at every depth, by literal or variable, and whatever the id says about itself.
import { describe, expect, test } from 'vitest';
import { type GithubEffect, githubEffects } from '../../../../../../src/path/github-effects.ts';
import { loadGraphqlInputs } from '../../../../../../src/stages/authorize/github/graphql/graphql-inputs.ts';
import { loadGraphqlTable } from '../../../../../../src/stages/authorize/github/operation-table.ts';
import { ask, ids } from './graphql-ask.ts';

const comment = (subjectId: unknown) =>
  ask({
    query: 'mutation($input: AddCommentInput!) { addComment(input: $input) { clientMutationId } }',
    variables: { input: { body: 'b', subjectId } },
  });

describe('a comment goes to the own repository alone', () => {
  test('with ids in both forms', async () => {
    expect((await comment(ids.issue)).said).toBe('allowed');
    expect((await comment(ids.legacyIssue)).said).toBe('allowed');
  });

  test.each([
    ['in the current form', ids.foreignIssue],
    ['in the legacy form', ids.legacyForeignIssue],
    ['that says it were in the own repository', ids.forgedIssue],
    ['that GitHub does not know', 'I_kwDOAAAAAc4AAABj'],
    ['of a user', ids.user],
    ['under the prefix of a user', ids.foreignIssue.replace('I_', 'U_')],
    ['as a number', 2],
    ['as a list', [ids.foreignIssue]],
    ['as a list of one, which GitHub would not take', [ids.issue]],
    ['as a list with the own one first', [ids.issue, ids.foreignIssue]],
    ['as an object', { id: ids.foreignIssue }],
    ['as true', true],
    ['with a space', `${ids.issue} `],
    ['empty', ''],
    ['null', null],
  ])('not with an id %s', async (_how, id) => {
    expect((await comment(id)).said).toMatch(/^github\.(?:node|graphql): /);
  });

  test('an id that claims one repository and is in another is refused even if both are allowed', async () => {
    const query = `mutation { addComment(input: {body: "b", subjectId: "${ids.forgedIssue}"}) { clientMutationId } }`;
    expect((await ask(query, { covers: () => true })).said).toMatch(/is not one of a repository of this sandbox/);
  });

  test('a default value counts when the variable is not given, and only then', async () => {
    const query = `mutation($id: ID! = "${ids.foreignIssue}") { addComment(input: {body: "b", subjectId: $id}) { clientMutationId } }`;
    expect((await ask({ query })).said).toMatch(/is not one of a repository of this sandbox/);
    expect((await ask({ query, variables: { id: ids.issue } })).said).toBe('allowed');
    expect((await ask({ query, variables: { ID: ids.issue } })).said).toMatch(
      /is not one of a repository of this sandbox/,
    );
  });

  test.each([
    [
      'an argument twice',
      `addComment(input: {body: "b", subjectId: "${ids.issue}"}, input: {body: "b", subjectId: "${ids.foreignIssue}"})`,
    ],
    ['a field twice', `addComment(input: {body: "b", subjectId: "${ids.issue}", subjectId: "${ids.foreignIssue}"})`],
    ['a variable that is not declared', 'addComment(input: $input)'],
    ['another argument', `addComment(input: {body: "b", subjectId: "${ids.issue}"}, other: "${ids.foreignIssue}")`],
    ['no input', 'addComment'],
  ])('%s is refused', async (_what, field) => {
    expect((await ask({ query: `mutation { ${field} { clientMutationId } }`, variables: { input: {} } })).said).toMatch(
      /^github\.graphql: /,
    );
  });

  test('the id of a user names people to assign and ask, and nothing else', async () => {
    const input = { repositoryId: ids.repository, title: 't', milestoneId: ids.user };
    const query = 'mutation($input: CreateIssueInput!) { createIssue(input: $input) { clientMutationId } }';
    expect((await ask({ query, variables: { input } })).said).toMatch(/^github\.node: the node U_/);
  });

  test('more nodes than GitHub takes at once are refused before anybody is asked', async () => {
    const many = Array.from({ length: 101 }, (_, n) => `I_kwDOAAAAAc4AAA${String(n).padStart(3, 'A')}`);
    const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const asked = await ask({ query, variables: { ids: many } });
    expect(asked.said).toMatch(/at most 100 nodes/);
    expect(asked.looked).toEqual([]);
  });

  test('a variable declared twice is refused', async () => {
    const query = 'mutation($a: ID = "x", $a: ID = "y") { addComment(input: {subjectId: $a}) { clientMutationId } }';
    expect((await ask(query)).said).toMatch(/\$a is declared twice/);
  });

  test('a key such as __proto__ gives no value', async () => {
    const body = Buffer.from(
      `{"query":"mutation($input: AddCommentInput!) { addComment(input: $input) { clientMutationId } }","variables":{"__proto__":{"input":{"body":"b","subjectId":"${ids.issue}"}}}}`,
    );
    expect((await ask(body)).said).toMatch(/^github\.graphql: addComment\.input is not an object/);
  });
});

test('node and nodes show only things of the own repository', async () => {
  const node = (id: string) => ask(`{ node(id: "${id}") { ... on Issue { title } } }`);
  expect((await node(ids.issue)).said).toBe('allowed');
  expect((await node(ids.foreignIssue)).said).toMatch(/^github\.node: .*is not one of a repository of this sandbox/);
  expect(
    (await ask(`{ nodes(ids: ["${ids.issue}", "${ids.foreignIssue}"]) { ... on Issue { title } } }`)).said,
  ).toMatch(/is not one of a repository of this sandbox/);
  expect((await ask(`{ nodes(ids: "${ids.foreignIssue}") { ... on Issue { title } } }`)).said).toMatch(
    /is not one of a repository of this sandbox/,
  );
  expect((await ask('{ node { id } }')).said).toMatch(/^github\.node: /);
  // The prefix of an account opens only what accounts show.
  expect((await node(ids.foreignIssue.replace('I_', 'U_'))).said).toMatch(/Issue\.title cannot be selected here/);
});

test('no mutation of the schema accepts a foreign id in any of its fields, with every effect allowed', async () => {
  const inputs = loadGraphqlInputs();
  const effects = Object.keys(githubEffects) as GithubEffect[];
  let tried = 0;
  for (const name of loadGraphqlTable().mutations.keys()) {
    for (const [field, { type, isList }] of inputs.ofMutation(name)!) {
      if (type !== 'ID') continue;
      tried += 1;
      const input = { [field]: isList ? [ids.foreignIssue] : ids.foreignIssue };
      const asked = await ask(
        { query: `mutation($i: X!) { ${name}(input: $i) { clientMutationId } }`, variables: { i: input } },
        { effects },
      );
      expect(asked.said, `${name}.${field}`).toMatch(/^github\.node: .*is not one of a repository of this sandbox/);
    }
  }
  expect(tried).toBeGreaterThan(250);
});
