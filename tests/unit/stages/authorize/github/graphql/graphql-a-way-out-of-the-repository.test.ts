// From a repository a query can walk to its owner, forks, cross references and on to anything the credential can see. No path
// may show content of another repository: checked by hand for the known ways, and by walking the whole table.
import { describe, expect, test } from 'vitest';
import {
  type GraphqlType,
  loadGraphqlTypes,
  type View,
} from '../../../../../../src/stages/authorize/github/graphql/graphql-types.ts';
import { ask, ids, inRepository } from './graphql-ask.ts';

const types = loadGraphqlTypes();
const issues = 'issues(first: 9) { nodes { title body } }';

describe('a query does not leave its repository', () => {
  test.each([
    ['its owner', `owner { ... on User { repositories(first: 9) { nodes { ${issues} } } } }`],
    ['its owner as an organisation', `owner { ... on Organization { repository(name: "x") { ${issues} } } }`],
    ['its owner as an owner', `owner { repository(name: "x") { ${issues} } }`],
    ['its owner as a node', 'owner { ... on Node { ... on User { repositories { totalCount } } } }'],
    ['forks', `forks(first: 9) { nodes { ${issues} } }`],
    ['its parent', `parent { ${issues} }`],
    ['its parent by a fragment', `parent { ... on Repository { ${issues} } }`],
    ['its parent as a node', `parent { ... on Node { ... on Repository { ${issues} } } }`],
    ['the default branch of its parent', 'parent { defaultBranchRef { target { oid } } }'],
    ['the head of a pull request', `pullRequest(number: 1) { headRepository { ${issues} } }`],
    [
      'the head branch of a pull request',
      'pullRequest(number: 1) { headRef { target { ... on Commit { message } } } }',
    ],
    [
      'cross references',
      'issue(number: 1) { timelineItems(first: 9) { nodes { ... on CrossReferencedEvent { source { ... on Issue { title } } } } } }',
    ],
    [
      'what closed an issue',
      'issue(number: 1) { timelineItems(first: 9) { nodes { ... on ClosedEvent { closer { ... on PullRequest { title } } } } } }',
    ],
    ['sub-issues', 'issue(number: 1) { subIssues(first: 9) { nodes { body } } }'],
    ['its parent issue', 'issue(number: 1) { parent { body } }'],
    ['closing references', 'pullRequest(number: 1) { closingIssuesReferences(first: 9) { nodes { title } } }'],
    [
      'edges instead of nodes',
      'pullRequest(number: 1) { closingIssuesReferences(first: 9) { edges { node { title } } } }',
    ],
    [
      'pull requests of a commit',
      'object(expression: "HEAD") { ... on Commit { associatedPullRequests(first: 9) { nodes { title } } } }',
    ],
    ['a comparison with a fork', 'defaultBranchRef { compare(headRef: "x:y") { commits(first: 1) { totalCount } } }'],
    ['projects', 'projectsV2(first: 9) { nodes { items(first: 9) { nodes { id } } } }'],
    ['the author', 'issue(number: 1) { author { ... on User { repositories { totalCount } } } }'],
    ['stargazers', 'stargazers(first: 9) { nodes { repositories { totalCount } } }'],
    ['topics', 'repositoryTopics(first: 9) { nodes { topic { repositories { totalCount } } } }'],
    ['a token', 'tempCloneToken'],
    ['a token under another name', 'id: tempCloneToken'],
    ['a type nobody listed', '... on Gist { description }'],
    ['the root once more', '... on Query { viewer { login } }'],
  ])('by %s', async (_way, selection) => {
    expect((await ask(inRepository(selection))).said).toMatch(/^github\.graphql: /);
  });

  test('and the facts that tools need are there', async () => {
    const facts = 'parent { id nameWithOwner owner { login } isPrivate defaultBranchRef { name } }';
    const closing =
      'pullRequest(number: 1) { closingIssuesReferences(first: 9) { nodes { id number url repository { name owner { id login } } } pageInfo { hasNextPage } } }';
    expect((await ask(inRepository(`${facts} ${closing}`))).said).toBe('allowed');
  });

  test('a fragment that is allowed in one place is judged again in another', async () => {
    const query = `{ repository(owner: "o", name: "r") { ...R parent { ...R } } } fragment R on Repository { ${issues} }`;
    expect((await ask(query)).said).toMatch(/Repository\.issues cannot be selected here/);
  });

  test('nor from the answer of a mutation', async () => {
    const input = `{pullRequestId: "${ids.pull}"}`;
    const query = `mutation { closePullRequest(input: ${input}) { pullRequest { repository { ${issues} } } } }`;
    expect((await ask(query)).said).toMatch(/Repository\.issues cannot be selected here/);
  });
});

/** Every type that can be reached from a root, in the view in which it is reached. */
function reach(): Map<string, { readonly type: GraphqlType; readonly view: View; readonly path: string }> {
  const reached = new Map<string, { type: GraphqlType; view: View; path: string }>();
  const open = [...types.get('Repository')!.edges].map(([field, edge]) => ({ ...edge, path: `Repository.${field}` }));
  for (const [field, edge] of types.get('Mutation')!.edges) open.push({ ...edge, path: `Mutation.${field}` });
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const key = `${at.type} ${at.view}`;
    if (reached.has(key)) continue;
    const type = types.get(at.type)!;
    reached.set(key, { type, view: at.view, path: at.path });
    for (const [field, edge] of type.edges) {
      if (at.view === 'ref' && type.facts !== null && !type.facts.has(field)) continue;
      open.push({ type: edge.type, view: at.view === 'ref' ? 'ref' : edge.view, path: `${at.path}.${field}` });
    }
  }
  return reached;
}

describe('the whole table', () => {
  const reached = reach();

  test('leads back to a repository only as to one that may be another', () => {
    expect(reached.has('Repository ref')).toBe(true);
    for (const name of ['Repository', 'RepositoryConnection', 'RepositoryInfo']) {
      expect(reached.get(`${name} full`)?.path, name).toBeUndefined();
    }
  });

  test('shows of accounts nothing that leads to what they own', () => {
    for (const name of [
      'User',
      'Organization',
      'Bot',
      'Mannequin',
      'Actor',
      'RepositoryOwner',
      'App',
      'Enterprise',
      'Team',
      'EnterpriseUserAccount',
    ]) {
      expect(
        [...types.get(name)!.edges.values()]
          .map(({ type }) => type)
          .filter((type) => type !== 'Team' && type !== 'Organization'),
        name,
      ).toEqual([]);
      expect(types.get(name)!.leaves.size, name).toBeLessThan(13);
    }
  });

  test('shows of what may be elsewhere only numbers, names and addresses', () => {
    const words = /^(?:(?:body|text|message|title|content|patch|diff)\w*|\w+(?:Body|Text|HTML|Patch|Token))$/i;
    const shown: string[] = [];
    for (const { type, view } of reached.values()) {
      if (view !== 'ref') continue;
      for (const leaf of type.leaves) {
        if ((type.facts === null || type.facts.has(leaf)) && words.test(leaf)) shown.push(`${type.name}.${leaf}`);
      }
    }
    expect(shown).toEqual(['ProjectV2.title']);
  });

  test('leads nowhere to a root or to any node at all', () => {
    for (const name of ['Query', 'Mutation', 'Node']) expect(reached.has(`${name} full`), name).toBe(false);
  });

  test('every way of three steps to a repository is refused with content and passes with its name', async () => {
    const ways: string[][] = [];
    const walk = (type: GraphqlType, way: string[]): void => {
      for (const [field, edge] of type.edges) {
        if (edge.type === 'Repository') ways.push([...way, field]);
        else if (way.length < 2 && edge.view === 'full') walk(types.get(edge.type)!, [...way, field]);
      }
    };
    walk(types.get('Repository')!, []);
    expect(ways.length).toBeGreaterThan(30);
    const nest = (way: readonly string[], end: string) =>
      way.reduceRight((inner, field) => `${field} { ${inner} }`, end);
    for (const way of ways) {
      expect(
        (await ask(inRepository(nest(way, 'name')), { effects: ['read', 'read-sensitive'] })).said,
        way.join('.'),
      ).toBe('allowed');
      expect(
        (await ask(inRepository(nest(way, issues)), { effects: ['read', 'read-sensitive'] })).said,
        way.join('.'),
      ).toMatch(/Repository\.issues cannot be selected here/);
    }
  });
});
