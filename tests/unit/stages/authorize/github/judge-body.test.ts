import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Identified, Permission } from '../../../../../src/path/flow.ts';
import { defaultEffects } from '../../../../../src/path/github-effects.ts';
import { GitRemoteError } from '../../../../../src/protocols/git/git-remote-error.ts';
import { decide } from '../../../../../src/stages/authorize/decide.ts';
import type { GithubPorts } from '../../../../../src/stages/authorize/github/github-ports.ts';
import {
  findingsRefusal,
  hasJudgedBody,
  judgeGithubBody,
} from '../../../../../src/stages/authorize/github/judge-body.ts';
import { acceptedFlow, callerFrom, canonicalOf, noGitPorts, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { githubPolicy } from '../../../../support/hand-made-policy.ts';

const { signal } = new AbortController();
const api = 'https://api.github.com/repos/acme/widgets';
const withServer: GithubPorts = { ...noGitPorts, openGitServer: () => ({}) as never };

function asked(method: string, path: string, policy = githubPolicy): { flow: Identified; permission: Permission } {
  const canonical = canonicalOf(method, `${api}${path}`);
  const sandbox = sandboxWith({ authMode: 'user' });
  const permission = decide(policy, sandbox, canonical, new HeaderList());
  return { flow: { ...acceptedFlow(callerFrom(), canonical), sandbox }, permission };
}

function judge(method: string, path: string, body: Record<string, unknown>, ports = withServer, policy = githubPolicy) {
  const { flow, permission } = asked(method, path, policy);
  return judgeGithubBody(flow, permission, policy, body, ports, signal);
}

describe('the body decides where the address does not', () => {
  test.each([
    ['PUT', '/contents/x', true],
    ['POST', '/merge-upstream', true],
    ['POST', '/pulls/7/reviews', true],
    ['POST', '/pulls/7/reviews/7/events', true],
    ['GET', '/pulls/7/reviews', false],
    ['PUT', '/pulls/7/reviews/7', true],
    ['GET', '/contents/x', false],
    ['POST', '/issues', true],
    ['POST', '/issues/7/comments', true],
    ['POST', '/pulls/7/requested_reviewers', true],
    ['DELETE', '/pulls/7/requested_reviewers', false],
    ['POST', '/issues/7/labels', false],
  ])('%s %s: %o', (method, path, isJudged) => {
    expect(hasJudgedBody(method, asked(method, path).permission.github!)).toBe(isJudged);
  });
});

describe('a review approves only where the policy allows it', () => {
  const reviews = '/pulls/7/reviews';

  test('the refusal names the event and the effect', async () => {
    await expect(judge('POST', reviews, { event: 'APPROVE' })).rejects.toMatchObject({
      code: 'github.effect',
      rule: 'github.effects.user',
      message: expect.stringMatching(/with event "APPROVE" is not allowed: its effect is "approve"/),
    });
  });

  test('allowed, it passes', async () => {
    const effects = new Set([...defaultEffects, 'approve' as const]);
    const policy = { ...githubPolicy, githubEffects: { bot: effects, user: effects } };
    await expect(judge('POST', reviews, { event: 'APPROVE' }, withServer, policy)).resolves.toEqual(['approve']);
  });

  test('without an event it waits to be submitted', async () => {
    await expect(judge('POST', reviews, { body: 'x' })).resolves.toEqual([]);
  });
});

describe('a pull request is from a repository of the sandbox', () => {
  test('another one is named as it can be registered', async () => {
    for (const body of [{ head: 'Other:work' }, { head: 'work', head_repo: 'other/widgets' }]) {
      await expect(judge('POST', '/pulls', body)).rejects.toMatchObject({
        code: 'repo.not-allowed',
        message: expect.stringMatching(/^other\/widgets is not among the repositories of /),
        hint: expect.stringContaining('register the sandbox with "repos": ["other/widgets"].'),
      });
    }
  });

  test('what names none is told how to name one, and nothing of it is to be registered', async () => {
    for (const head of ['a:b:c', '../x:work', 7, ['work']]) {
      await expect(judge('POST', '/pulls', { head })).rejects.toMatchObject({
        code: 'repo.not-allowed',
        hint: expect.stringMatching(/^Write "head" as BRANCH/),
      });
    }
  });
});

describe('a write is judged by the rules of a push', () => {
  test('one that passes', async () => {
    await expect(judge('PUT', '/contents/x', { branch: 'work' })).resolves.toEqual([]);
  });

  test('a ref write that nobody can judge is refused, and says how to do it', async () => {
    await expect(judge('POST', '/merge-upstream', { branch: 'work' })).rejects.toMatchObject({
      code: 'repo.operation-not-judged',
      hint: expect.stringContaining('push it with git'),
    });
  });

  test('a server that does not answer leaves it undecided; a fault of ours is not hidden', async () => {
    const failing = (error: Error): GithubPorts => ({
      ...noGitPorts,
      openGitServer: () => ({ refs: () => Promise.reject(error) }) as never,
    });
    const move = (error: Error) => judge('PATCH', '/git/refs/heads/work', { sha: '1'.repeat(40) }, failing(error));
    await expect(move(new GitRemoteError(Buffer.from('no')))).rejects.toMatchObject({ code: 'push.undecided' });
    await expect(move(new TypeError('ours'))).rejects.toThrow(TypeError);
  });

  test('the git side is asked for this repository, at the site', async () => {
    const opened: string[] = [];
    const ports: GithubPorts = {
      ...noGitPorts,
      openGitServer: ({ canonical }, { repository, credential }) => {
        opened.push(`${canonical.host} ${repository} ${credential}`);
        return {} as never;
      },
    };
    await judge('PUT', '/contents/x', { branch: 'work' }, ports);
    expect(opened).toEqual(['github.com acme/widgets github']);
  });
});

test('all that is wrong is told at once, under the code of the first', () => {
  const finding = { ref: null, reason: '', hint: 'h', rule: 'r' };
  const refusal = findingsRefusal([
    { ...finding, code: 'push.protected-branch', message: 'one' },
    { ...finding, code: 'push.protected-path', message: 'two', rule: 's' },
  ]);
  expect(refusal).toMatchObject({ code: 'push.protected-branch', message: 'one; two', rule: 'r', hint: 'h' });
});
