import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../../src/path/refusal.ts';
import { loadGraphqlTable } from '../../../../../../src/stages/authorize/github/operation-table.ts';
import { ask, ids } from './graphql-ask.ts';

const oid = 'a'.repeat(40);

function write(name: string, input: object) {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input!`;
  return ask({
    query: `mutation($input: ${type}) { ${name}(input: $input) { clientMutationId } }`,
    variables: { input },
  });
}

describe('mutations that write branches are handed to the rules of a push', () => {
  test('a commit on a branch, with every path that it adds or deletes', async () => {
    const fileChanges = { additions: [{ path: 'a', contents: '' }], deletions: [{ path: '.github/workflows/x.yml' }] };
    const branch = { repositoryNameWithOwner: 'O/R', branchName: 'f' };
    const { writes } = await write('createCommitOnBranch', { branch, fileChanges, message: {}, expectedHeadOid: oid });
    expect(writes).toEqual([
      { kind: 'files', repository: 'o/r', branch: 'f', paths: ['a', '.github/workflows/x.yml'] },
    ]);
  });

  test('the branch of a commit may be an id, whose name GitHub tells', async () => {
    const { writes } = await write('createCommitOnBranch', {
      branch: { id: ids.ref },
      message: {},
      expectedHeadOid: oid,
    });
    expect(writes).toEqual([{ kind: 'files', repository: 'o/r', branch: 'main', paths: [] }]);
  });

  test('a commit on a branch of another repository is refused', async () => {
    const branch = { repositoryNameWithOwner: 'other/secret', branchName: 'f' };
    expect((await write('createCommitOnBranch', { branch, message: {} })).said).toMatch(
      /^repo\.not-allowed: other\/secret/,
    );
  });

  test('a branch named twice over is refused', async () => {
    const branch = { id: ids.ref, branchName: 'f', repositoryNameWithOwner: 'o/r' };
    expect((await write('createCommitOnBranch', { branch, message: {} })).said).toMatch(/by id or by name/);
  });

  test('refs that are made, moved and deleted', async () => {
    const base = { kind: 'move', repository: 'o/r', newOid: oid, isNew: false, force: false };
    const made = await write('createRef', { repositoryId: ids.repository, name: 'refs/heads/f', oid });
    expect(made.writes).toEqual([{ ...base, ref: 'refs/heads/f', isNew: true }]);
    const moved = await write('updateRef', { refId: ids.ref, oid, force: true });
    expect(moved.writes).toEqual([{ ...base, ref: 'refs/heads/main', force: true }]);
    const gone = await write('deleteRef', { refId: ids.ref });
    expect(gone.writes).toEqual([{ ...base, ref: 'refs/heads/main', newOid: null }]);
    const refUpdates = [
      { name: 'refs/heads/a', afterOid: oid, beforeOid: '0'.repeat(40) },
      { name: 'refs/heads/b', afterOid: '0'.repeat(40), force: true },
    ];
    const several = await write('updateRefs', { repositoryId: ids.repository, refUpdates });
    expect(several.writes).toEqual([
      { ...base, ref: 'refs/heads/a', isNew: true },
      { ...base, ref: 'refs/heads/b', newOid: null, force: true },
    ]);
  });

  test('merges into a branch, and the branch of a pull request that is brought up to date', async () => {
    const merged = await write('mergeBranch', { repositoryId: ids.repository, base: 'f', head: 'main' });
    expect(merged.writes).toEqual([{ kind: 'takeover', repository: 'o/r', to: 'f', from: 'main' }]);
    const updated = await write('updatePullRequestBranch', { pullRequestId: ids.pull });
    expect(updated.writes).toEqual([{ kind: 'takeover', repository: 'o/r', to: 'f', from: 'main' }]);
    const rebased = await write('updatePullRequestBranch', { pullRequestId: ids.pull, updateMethod: 'REBASE' });
    expect(rebased.said).toMatch(/only updateMethod MERGE/);
  });

  test('a linked branch needs a name', async () => {
    const named = await write('createLinkedBranch', { issueId: ids.issue, oid, name: 'f' });
    expect(named.writes).toMatchObject([{ ref: 'refs/heads/f', isNew: true, newOid: oid }]);
    expect((await write('createLinkedBranch', { issueId: ids.issue, oid })).said).toMatch(/name is missing/);
  });

  test('an id that is not the id of a ref writes nothing', async () => {
    expect((await write('updateRef', { refId: ids.issue, oid })).said).toMatch(/not that of a branch or tag/);
  });

  test('what the rules refuse is refused', async () => {
    const refs = { judge: () => Promise.reject(new Refusal('push.protected-branch', 'main is a protected branch')) };
    const query = `mutation { deleteRef(input: {refId: "${ids.ref}"}) { clientMutationId } }`;
    expect((await ask(query, { refs })).said).toBe('push.protected-branch: main is a protected branch');
  });

  test('every mutation with the effect push is either read or refused', async () => {
    const pushes = [...loadGraphqlTable().mutations].filter(([, effect]) => effect === 'push').map(([name]) => name);
    expect(pushes.length).toBeGreaterThan(7);
    for (const name of pushes) {
      const asked = await ask(`mutation { ${name}(input: {}) { clientMutationId } }`);
      expect(asked.said, name).not.toBe('allowed');
    }
    expect((await write('revertPullRequest', { pullRequestId: ids.pull })).said).toMatch(/cannot be judged/);
  });
});
