import { describe, expect, test } from 'vitest';
import {
  RememberedNodes,
  readNodeAnswer,
  writeNodeQuestion,
} from '../../../../../../src/stages/authorize/github/graphql/node-facts.ts';
import { readNodeId } from '../../../../../../src/stages/authorize/github/graphql/node-id.ts';

describe('what a node id says about itself', () => {
  test.each([
    ['R_kgDOABPHjQ', 1296269],
    ['I_kwDOABPHjc4AAAAC', 1296269],
    ['R_kgAB', 1],
    ['PR_kwDPAAAAAQAAAALOAAAAAQ', 4294967298],
    ['REF_kwDOABPHjatyZWZzL2hlYWRz', 1296269],
  ])('%s is in repository %d', (id, number) => {
    expect(readNodeId(id)).toEqual({ isAccount: false, isPerson: false, repositoryNumber: number });
  });

  test('accounts are in no repository', () => {
    for (const id of ['U_kgDOAAAAAQ', 'O_kgDOAAAAAQ', 'BOT_kgDOAAAAAQ', 'MDQ6VXNlcjE=']) {
      expect(readNodeId(id)).toMatchObject({ isAccount: true, repositoryNumber: null });
    }
    expect(readNodeId('BOT_kgDOAAAAAQ')!.isPerson).toBe(false);
  });

  test('a legacy id says nothing about its repository', () => {
    expect(readNodeId('MDU6SXNzdWUy')).toEqual({ isAccount: false, isPerson: false, repositoryNumber: null });
  });

  test.each([
    '',
    '1',
    'I_',
    'I_kw DO',
    'I_kwDO\n',
    'I_kwDO/..',
    '{}',
    'I_\u212a',
    '012:Issue1',
    `I_${'a'.repeat(999)}`,
  ])('%j is no id', (id) => {
    expect(readNodeId(id)).toBeNull();
  });

  test('cut off and strange MessagePack claims nothing', () => {
    for (const id of ['I_kg', 'I_kwDO', 'I_gA', 'I_k8D_', 'I_3QAB'])
      expect(readNodeId(id)?.repositoryNumber).toBeNull();
  });
});

const home = { nameWithOwner: 'O/R', databaseId: 1 };

describe('what GitHub says about nodes', () => {
  test('is read for repositories, things in them, refs and pull requests', () => {
    const nodes = [
      { __typename: 'Repository', ...home },
      { __typename: 'Issue', home },
      { __typename: 'Ref', home, name: 'x/y', prefix: 'refs/heads/' },
      { __typename: 'PullRequest', home, headRefName: 'f', baseRefName: 'main', headRepository: null },
      { __typename: 'User' },
      null,
    ];
    const facts = readNodeAnswer({ data: { nodes } }, ['a', 'b', 'c', 'd', 'e', 'f']);
    const base = { repository: 'o/r', repositoryNumber: 1, ref: null, pull: null };
    expect([...facts]).toEqual([
      ['a', { ...base, type: 'Repository' }],
      ['b', { ...base, type: 'Issue' }],
      ['c', { ...base, type: 'Ref', ref: 'refs/heads/x/y' }],
      ['d', { ...base, type: 'PullRequest', pull: { headRepository: null, head: 'f', base: 'main' } }],
    ]);
  });

  test('is not believed in another form', () => {
    expect(() => readNodeAnswer({ data: { nodes: [] } }, ['a'])).toThrow(/did not say/);
    expect(() => readNodeAnswer({ errors: [] }, ['a'])).toThrow(/did not say/);
    const odd = [
      { __typename: 'Issue', home: { nameWithOwner: 'o/r/x' } },
      { __typename: 'Issue', nameWithOwner: 'o/r' },
    ];
    expect(readNodeAnswer({ data: { nodes: odd } }, ['a', 'b']).size).toBe(0);
  });

  test('is asked once, in one question, and remembered; what was not found is asked again', async () => {
    const asked: string[][] = [];
    const memory = new RememberedNodes(async (body) => {
      const { ids } = JSON.parse(body.toString('utf8')).variables as { ids: string[] };
      asked.push(ids);
      return { data: { nodes: ids.map((id) => (id === 'gone' ? null : { __typename: 'Issue', home })) } };
    });
    expect((await memory.look(['a', 'b', 'a', 'gone'])).size).toBe(2);
    expect((await memory.look(['a', 'b', 'gone'])).size).toBe(2);
    expect(asked).toEqual([['a', 'b', 'gone'], ['gone']]);
  });

  test('where a ref or a pull request is now is asked every time', async () => {
    let questions = 0;
    const memory = new RememberedNodes(async () => {
      questions += 1;
      return { data: { nodes: [{ __typename: 'Ref', home, name: 'f', prefix: 'refs/heads/' }] } };
    });
    await memory.look(['r']);
    await memory.look(['r']);
    expect(questions).toBe(2);
  });

  test('the question carries the ids as variables, never in its text', () => {
    const { query, variables } = JSON.parse(writeNodeQuestion(['"}']).toString('utf8'));
    expect(variables).toEqual({ ids: ['"}'] });
    expect(query).not.toContain('"}');
  });
});
