import { describe, expect, test } from 'vitest';
import { ask, ids } from './graphql-ask.ts';

const move = `updatePullRequest(input: {pullRequestId: "${ids.pull}", baseRefName: "evil"}) { clientMutationId }`;
const update = `updatePullRequestBranch(input: {pullRequestId: "${ids.pull}"}) { clientMutationId }`;
const close = `closeIssue(input: {issueId: "${ids.issue}"}) { clientMutationId }`;

describe('a branch is not written beside another mutation, which could change what was judged', () => {
  test.each([
    ['after its base was moved', `mutation { a: ${move} b: ${update} }`],
    ['in a fragment', `mutation { ${move} ...F } fragment F on Mutation { ${update} }`],
    ['in another operation of the document', `mutation A { ${move} } mutation B { ${update} }`],
    ['twice', `mutation { a: ${update} b: ${update} }`],
    ['beside anything else', `mutation { ${close} ${update} }`],
  ])('%s', async (_, query) => {
    const { said, writes } = await ask({ query, ...(query.includes('mutation A') ? { operationName: 'A' } : {}) });
    expect(said).toMatch(/^github\.graphql: .*beside/);
    expect(writes).toEqual([]);
  });

  test('each by itself passes, and other mutations beside each other', async () => {
    expect((await ask(`mutation { ${update} }`)).said).toBe('allowed');
    expect((await ask(`mutation { ${move} ${close} }`)).said).toBe('allowed');
  });
});
