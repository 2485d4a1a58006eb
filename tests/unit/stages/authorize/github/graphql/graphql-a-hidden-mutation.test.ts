// A forbidden mutation must not pass because of how it is written: only what the parser found is judged, and only what was
// judged is sent.
import { describe, expect, test } from 'vitest';
import { ask, ids, inRepository, sentBy } from './graphql-ask.ts';

const merge = `mergePullRequest(input: {pullRequestId: "${ids.pull}"}) { clientMutationId }`;
const harmless = `addComment(input: {subjectId: "${ids.issue}", body: "b"}) { clientMutationId }`;
const refused = /^github\.effect: the mutation mergePullRequest is not allowed/;

describe('a merge is refused', () => {
  test.each([
    ['plainly', `mutation { ${merge} }`],
    ['after white space and commas', `\n\t,,mutation,{,${merge.replaceAll(' ', ' , ')},}`],
    ['under another name', `mutation { addComment: ${merge} }`],
    ['under __typename as a name', `mutation { x__typename: ${merge} }`],
    ['beside a harmless one', `mutation { a: ${harmless} b: ${merge} }`],
    ['in an inline fragment', `mutation { ... on Mutation { ${merge} } }`],
    ['in an inline fragment without type', `mutation { ... { ... @include(if: true) { ${merge} } } }`],
    ['in a fragment', `mutation { ...F } fragment F on Mutation { ${merge} }`],
    [
      'in a fragment of a fragment',
      `fragment G on Mutation { ${merge} } mutation { ...F } fragment F on Mutation { ...G }`,
    ],
    ['behind a comment', `# query { viewer { login } }\nmutation # {\n{ ${merge} }`],
    ['with a carriage return that ends a comment', `mutation { # x\r${merge}\n}`],
    [
      'skipped, by a variable that another time is not',
      `mutation($s: Boolean = true) { a: ${harmless} b: ${merge.replace(') {', ') @skip(if: $s) {')} }`,
    ],
    ['after a byte order mark in the text', `\uFEFFmutation { ${merge} }`],
    [
      'after a block string that looks like an end',
      `mutation { a: addComment(input: {subjectId: "${ids.issue}", body: """ } \\""" query { x } """}) { clientMutationId } b: ${merge} }`,
    ],
  ])('%s', async (_how, query) => {
    expect((await ask(query)).said).toMatch(refused);
  });

  test('as a second operation, whichever is named', async () => {
    const query = `query A { viewer { login } } mutation B { ${merge} }`;
    for (const operationName of ['A', 'B']) expect((await ask({ query, operationName })).said).toMatch(refused);
  });

  test.each([
    ['none is named', { query: 'query A { viewer { login } } query B { viewer { id } }' }],
    ['the empty name', { query: 'query A { viewer { login } } query B { viewer { id } }', operationName: '' }],
    ['a name that is not there', { query: 'query A { viewer { login } }', operationName: 'B' }],
    ['a name twice', { query: 'query A { viewer { login } } query A { viewer { id } }', operationName: 'A' }],
    ['a name that is no string', { query: 'query A { viewer { login } }', operationName: ['A'] }],
    ['a subscription', 'subscription { viewer { login } }'],
    ['no operation', 'fragment F on Mutation { clientMutationId }'],
    ['a type', 'type T { a: Int } query { viewer { login } }'],
    ['a directive nobody knows', 'query @live { viewer { login } }'],
    ['one on a field', '{ viewer @rest(path: "/x") { login } }'],
    ['one on a variable', 'query($a: Int @x) { viewer { login } }'],
    ['one on a fragment', '{ viewer { ...F } } fragment F on User @x { login }'],
    ['a fragment twice', '{ viewer { ...F } } fragment F on User { login } fragment F on User { id }'],
    ['a fragment that is not there', '{ viewer { ...F } }'],
    ['a fragment of a mutation in a query', `{ ... on Mutation { ${harmless} } }`],
    ['no GraphQL at all', 'mutation {'],
  ])('with an unclear document: %s', async (_what, request) => {
    expect((await ask(request)).said).toMatch(/^github\.graphql: /);
  });
});

test('what is sent is what was judged, without comments, block strings and second keys', async () => {
  const text = inRepository('label(name: """\n    a\n    "b"\n  """) { id } # mutation\n');
  const raw = `{"query":"mutation { x }","variables":{"a":1},"query":${JSON.stringify(text)},"variables":{}}`;
  const { query, ...others } = sentBy(await ask(Buffer.from(raw)));
  expect(others).toEqual({ variables: {} });
  expect(query).not.toMatch(/mutation|"""/);
  expect(query).toContain('name: "a\\n\\"b\\""');
});
