import { describe, expect, test } from 'vitest';
import {
  findRefWriteJudge,
  judgeFileWrite,
  judgeRefMoves,
  judgeTakeover,
  type PullBranches,
  type RefWrite,
} from '../../../../../src/stages/authorize/github/judge-ref-write.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { History, MemoryServer, workflow, zeroId } from '../git/git-push-ground.ts';

const repo = '/repos/{owner}/{repo}';
const strict = handMadePolicy({ protectedPaths: ['.github/workflows/**'] });
const person = sandboxWith({ authMode: 'user' });
const bot = sandboxWith({ authMode: 'bot', allowedBranches: ['sandbox/*'] });

function ground() {
  const history = new History();
  const main = history.commit([], { 'README.md': 'one' });
  const work = history.commit([main], { 'README.md': 'two' });
  const server = new MemoryServer(history, { 'refs/heads/main': main, 'refs/heads/sandbox/work': work });
  return { history, main, work, server };
}

async function codes(
  call: string,
  { params = {}, body = {}, ...over }: Partial<Omit<RefWrite, 'params'>> & { params?: Record<string, string> },
): Promise<string[]> {
  const [method = '', operation = ''] = call.split(' ');
  const judge = findRefWriteJudge(method, operation);
  if (judge === null) return ['no judge'];
  const findings = await judge({
    policy: strict,
    sandbox: person,
    repository: 'acme/widgets',
    params: new Map(Object.entries(params)),
    body,
    server: ground().server,
    pull: () => Promise.reject(new Error('no pull request is asked for here')),
    ...over,
  });
  return findings.map(({ code }) => code);
}

describe('a file is written to a branch and a path that a push could write', () => {
  const put = `PUT ${repo}/contents/{path}`;
  const params = { path: 'src/x.txt' };

  test('an own branch and an open path', async () => {
    expect(await codes(put, { params, body: { branch: 'work' } })).toEqual([]);
    expect(await codes(put, { params, body: { branch: 'refs/heads/work' } })).toEqual(['push.undecided']);
    expect(await codes(put, { params, body: { branch: 'sandbox/x' }, sandbox: bot })).toEqual([]);
  });

  test('everything that is against it is told', async () => {
    expect(await codes(put, { params: { path: workflow }, body: { branch: 'main' } })).toEqual([
      'push.protected-branch',
      'push.protected-path',
    ]);
    expect(await codes(put, { params, body: { branch: 'work' }, sandbox: bot })).toEqual(['push.branch-not-allowed']);
  });

  test('the finding says which path and which rule', () => {
    const [finding] = judgeFileWrite({ policy: strict, sandbox: person }, 'work', ['a', workflow]);
    expect(finding).toMatchObject({
      rule: 'policy.protected_paths[0]',
      message: `${workflow} is a protected path`,
    });
  });

  test('a file where the protected directory is takes it away', () => {
    const judge = (path: string) => judgeFileWrite({ policy: strict, sandbox: person }, 'work', [path]).length;
    expect(['.github', '.github/workflows', '.GITHUB', '.githu', '.github/x'].map(judge)).toEqual([1, 1, 1, 0, 0]);
  });

  test('without a branch it is the default branch, so the branch must be said', async () => {
    for (const branch of [undefined, null, 7, '', ['x'], 'refs/tags/x', 'a..b', 'x ']) {
      expect(await codes(put, { params, body: { branch } })).toEqual(['push.undecided']);
    }
    expect(await codes(`DELETE ${repo}/contents/{path}`, { params })).toEqual(['push.undecided']);
  });
});

describe('a ref moves as it could by a push', () => {
  const patch = `PATCH ${repo}/git/refs/{ref}`;

  test('forward, to a commit that is on the server', async () => {
    const { history, work, server } = ground();
    const next = history.commit([work], { 'README.md': 'three' });
    server.hold(next);
    expect(await codes(patch, { params: { ref: 'heads/sandbox/work' }, body: { sha: next }, server })).toEqual([]);
    const made = { ref: 'refs/heads/sandbox/new', sha: next };
    expect(await codes(`POST ${repo}/git/refs`, { body: made, server })).toEqual([]);
  });

  test('not back, not by force, not to a workflow', async () => {
    const { history, main, work, server } = ground();
    const params = { ref: 'heads/sandbox/work' };
    expect(await codes(patch, { params, body: { sha: main }, server })).toEqual(['push.force']);
    expect(await codes(patch, { params, body: { sha: work, force: true }, server })).toEqual(['push.force']);
    const evil = history.commit([work], { 'README.md': 'two', [workflow]: 'on: push' });
    server.hold(evil);
    expect(await codes(patch, { params, body: { sha: evil }, server })).toEqual(['push.protected-path']);
    const made = { ref: 'refs/heads/sandbox/new', sha: evil };
    expect(await codes(`POST ${repo}/git/refs`, { body: made, server })).toEqual(['push.protected-path']);
  });

  test('by force where the policy allows it', async () => {
    const { main, server } = ground();
    const policy = handMadePolicy({ allowForcePush: true });
    const body = { sha: main, force: true };
    expect(await codes(patch, { params: { ref: 'heads/sandbox/work' }, body, server, policy })).toEqual([]);
    expect(await codes(patch, { params: { ref: 'heads/main' }, body, server, policy })).toEqual([
      'push.protected-branch',
    ]);
  });

  test('a ref that is not there does not move', async () => {
    const { work, server } = ground();
    expect(await codes(patch, { params: { ref: 'heads/sandbox/wor' }, body: { sha: work }, server })).toEqual([
      'push.undecided',
    ]);
  });

  test('what cannot be read is refused before anything is asked', async () => {
    const { server } = ground();
    for (const body of [{}, { sha: 'main' }, { sha: zeroId }, { sha: '1'.repeat(40), force: 'false' }]) {
      expect(await codes(patch, { params: { ref: 'heads/x' }, body, server })).toEqual(['push.undecided']);
    }
    for (const ref of ['x', 'heads/x', 'refs/heads/x y', 7, undefined]) {
      const body = { ref, sha: '1'.repeat(40) };
      expect(await codes(`POST ${repo}/git/refs`, { body, server })).toEqual(['push.undecided']);
    }
    expect(server.asked).toEqual([]);
  });

  test('a deletion is one of a push', async () => {
    const remove = `DELETE ${repo}/git/refs/{ref}`;
    expect(await codes(remove, { params: { ref: 'heads/work' } })).toEqual(['push.deletion']);
    expect(await codes(remove, { params: { ref: 'tags/v1' } })).toEqual(['push.tag-moved']);
    expect(await codes(remove, { params: { ref: 'notes/x' } })).toEqual(['push.namespace']);
    expect(await codes(remove, { params: { ref: 'heads/a..b' } })).toEqual(['push.undecided']);
    const policy = handMadePolicy({ allowBranchDeletion: true });
    expect(await codes(remove, { params: { ref: 'heads/work' }, policy })).toEqual([]);
    const moves = { isNew: false, force: false };
    const { server } = ground();
    expect(await judgeRefMoves({ policy, sandbox: person, server }, 'refs/heads/work', zeroId, moves)).toEqual([]);
  });
});

describe('a branch takes over another only from where protected paths are guarded', () => {
  const merges = `POST ${repo}/merges`;

  test('from a protected branch into one of its own', async () => {
    expect(await codes(merges, { body: { base: 'work', head: 'main' } })).toEqual([]);
    expect(await codes(merges, { body: { base: 'work', head: 'other' } })).toEqual(['push.protected-path']);
    expect(await codes(merges, { body: { base: 'main', head: 'other' } })).toEqual([
      'push.protected-branch',
      'push.protected-path',
    ]);
    expect(await codes(merges, { body: { base: 'work' } })).toEqual(['push.undecided']);
  });

  test('from anywhere when no path is protected', () => {
    expect(judgeTakeover({ policy: handMadePolicy({}), sandbox: person }, 'work', 'other')).toEqual([]);
  });

  test('a pull request of this repository, not of another', async () => {
    const update = `PUT ${repo}/pulls/{pull_number}/update-branch`;
    const from = (headRepository: string | null): Promise<string[]> => {
      const pull: PullBranches = { headRepository, headBranch: 'work', baseBranch: 'main' };
      return codes(update, { params: { pull_number: '7' }, pull: async (number) => (number === '7' ? pull : never()) });
    };
    expect(await from('Acme/Widgets')).toEqual([]);
    expect(await from('stranger/widgets')).toEqual(['push.undecided']);
    expect(await from(null)).toEqual(['push.undecided']);
  });

  test('a branch that is renamed is deleted and made', async () => {
    const rename = `POST ${repo}/branches/{branch}/rename`;
    const params = { branch: 'work' };
    expect(await codes(rename, { params, body: { new_name: 'other' } })).toEqual(['push.deletion']);
    const policy = handMadePolicy({ allowBranchDeletion: true });
    expect(await codes(rename, { params, body: { new_name: 'other' }, policy })).toEqual([]);
    expect(await codes(rename, { params, body: { new_name: 'main' }, policy })).toEqual(['push.protected-branch']);
    expect(await codes(rename, { params, body: {}, policy })).toEqual(['push.undecided']);
  });
});

test('what nobody can judge has no judge', () => {
  expect(findRefWriteJudge('POST', `${repo}/merge-upstream`)).toBeNull();
  expect(findRefWriteJudge('put', `${repo}/contents/{path}`)).toBeNull();
});

function never(): never {
  throw new Error('another pull request was asked for');
}
