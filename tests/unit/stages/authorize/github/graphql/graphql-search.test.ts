import { describe, expect, test } from 'vitest';
import { repositoryOfSearch } from '../../../../../../src/stages/authorize/github/graphql/judge-root.ts';
import { ask } from './graphql-ask.ts';

describe('a search is bound to one repository', () => {
  test.each([
    'repo:o/r is:pr state:open author:@me',
    'is:issue label:"good first: issue" repo:O/R sort:created-desc',
    '"some words (here)" repo:o/r in:title created:>2020-01-01T00:00:00Z -label:x',
    'repo:o/r',
  ])('%s', (text) => {
    expect(repositoryOfSearch(text)).toBe('o/r');
  });

  test.each([
    '',
    'is:pr',
    'repo:o/r repo:a/b',
    'repo:o/r,a/b',
    'repo:o/r org:a',
    'repo:o/r user:a',
    'repo:o/r OR is:pr',
    'repo:o/r or is:pr',
    'NOT repo:o/r',
    '-repo:o/r',
    '(repo:o/r)',
    '"repo:o/r"',
    'a "b repo:o/r c"',
    'a"b repo:o/r c"d',
    '"a\\" repo:o/r "',
    '"a repo:o/r',
    'x\u00a0repo:o/r',
    'x\trepo:o/r',
    'repo:o/r\norg:a',
    'repo:o/r "a\nb"',
    'repo:o/r,org:a',
    'repo:"o/r"',
    'repo: o/r',
    'repo:o',
    'repo:o/r/x',
    'repo:../r',
    'label:repo:o/r',
  ])('%j is not', (text) => {
    expect(() => repositoryOfSearch(text)).toThrow(/not bound to one repository/);
  });

  test('the judge binds it, to a repository of the sandbox, and lets only issues and discussions be found', async () => {
    const search = (text: string, type: string) =>
      ask({
        query: `query($q: String!) { search(query: $q, type: ${type}, first: 9) { nodes { ... on Issue { title } ... on Repository { name } } } }`,
        variables: { q: text },
      });
    expect((await search('repo:o/r x', 'ISSUE')).said).toBe('allowed');
    expect((await search('repo:a/b x', 'ISSUE')).said).toMatch(/^repo\.not-allowed: a\/b/);
    expect((await search('repo:o/r x', 'REPOSITORY')).said).toMatch(/type ISSUE/);
    expect((await search('repo:o/r x', 'USER')).said).toMatch(/type ISSUE/);
  });

  test('what is found shows no content of a repository', async () => {
    const query =
      '{ search(query: "repo:o/r", type: ISSUE) { nodes { ... on Node { ... on Repository { issues { totalCount } } } } } }';
    expect((await ask(query)).said).toMatch(/may be in another repository/);
  });
});
