import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../../../../src/kit/text/glob.ts';
import type { Sandbox } from '../../../../../src/path/sandbox.ts';
import { judgeCommands } from '../../../../../src/stages/authorize/git/judge-commands.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { command, zeroId } from './git-push-ground.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const policy = handMadePolicy({});
const bot = sandboxWith();
const user = sandboxWith({ authMode: 'user', allowedBranches: [] });

const codes = (sandbox: Sandbox, ref: string, oldId: string, newId: string, by = policy): string[] =>
  judgeCommands(by, sandbox, [command(ref, newId, oldId)]).map(({ code }) => code);

describe('what a push does to a ref, by its command alone', () => {
  test.each([
    ['refs/heads/sandbox/a', zeroId, A, []],
    ['refs/heads/sandbox/a', A, B, []],
    ['refs/heads/sandbox/a/b', A, B, ['push.branch-not-allowed']],
    ['refs/heads/feature', zeroId, A, ['push.branch-not-allowed']],
    ['refs/heads/main', A, B, ['push.protected-branch']],
    ['refs/heads/main', zeroId, A, ['push.protected-branch']],
    ['refs/heads/MAIN', zeroId, A, ['push.protected-branch']],
    ['refs/heads/main', A, zeroId, ['push.protected-branch', 'push.deletion']],
    ['refs/heads/sandbox/a', A, zeroId, ['push.deletion']],
    ['refs/tags/v1', zeroId, A, ['push.branch-not-allowed']],
    ['refs/tags/v1', A, B, ['push.tag-moved']],
    ['refs/tags/v1', A, zeroId, ['push.tag-moved']],
    ['refs/pull/7/head', zeroId, A, ['push.namespace']],
    ['refs/notes/commits', A, B, ['push.namespace']],
    ['refs/replace/x', zeroId, A, ['push.namespace']],
    ['refs/Heads/main', zeroId, A, ['push.namespace']],
    ['refs/heads/refs/heads/main', zeroId, A, ['push.namespace']],
    ['refs/heads/HEAD', zeroId, A, ['push.namespace']],
    ['refs/tags/head', zeroId, A, ['push.namespace']],
    [`refs/heads/${A}`, zeroId, A, ['push.namespace']],
  ])('a bot: %s from %.8s to %.8s', (ref, oldId, newId, expected) => {
    expect(codes(bot, ref, oldId, newId)).toEqual(expected);
  });

  test.each([
    ['refs/heads/feature', zeroId, A, []],
    ['refs/heads/feature', A, B, []],
    ['refs/heads/feature', A, zeroId, ['push.deletion']],
    ['refs/heads/master', A, B, ['push.protected-branch']],
    ['refs/tags/v1', zeroId, A, []],
    ['refs/tags/v1', A, B, ['push.tag-moved']],
    ['refs/tags/v1', A, zeroId, ['push.tag-moved']],
    ['refs/pull/7/head', A, zeroId, ['push.namespace']],
  ])('a user: %s from %.8s to %.8s', (ref, oldId, newId, expected) => {
    expect(codes(user, ref, oldId, newId)).toEqual(expected);
  });

  test('deletions where the policy allows them: of its own branches, never of protected ones or of tags', () => {
    const open = handMadePolicy({ allowBranchDeletion: true });
    expect(codes(bot, 'refs/heads/sandbox/a', A, zeroId, open)).toEqual([]);
    expect(codes(bot, 'refs/heads/feature', A, zeroId, open)).toEqual(['push.branch-not-allowed']);
    expect(codes(user, 'refs/heads/feature', A, zeroId, open)).toEqual([]);
    expect(codes(user, 'refs/heads/main', A, zeroId, open)).toEqual(['push.protected-branch']);
    expect(codes(user, 'refs/tags/v1', A, zeroId, open)).toEqual(['push.tag-moved']);
  });

  test('a bot makes tags where a pattern begins with refs/tags/', () => {
    const tagger = sandboxWith({ allowedBranches: ['sandbox/*', 'refs/tags/bot-*'] });
    expect(codes(tagger, 'refs/tags/bot-1', zeroId, A)).toEqual([]);
    expect(codes(tagger, 'refs/tags/bot-1', A, B)).toEqual(['push.tag-moved']);
    expect(codes(tagger, 'refs/tags/v1', zeroId, A)).toEqual(['push.branch-not-allowed']);
    expect(codes(tagger, 'refs/heads/bot-1', zeroId, A)).toEqual(['push.branch-not-allowed']);
  });

  test('every command is judged, and nothing is said of those that may pass', () => {
    const commands = [
      command('refs/heads/sandbox/a', A),
      command('refs/heads/main', A, B),
      command('refs/tags/v1', A, B),
      command('refs/notes/x', A),
    ];
    expect(judgeCommands(policy, bot, commands).map(({ ref }) => ref)).toEqual([
      'refs/heads/main',
      'refs/tags/v1',
      'refs/notes/x',
    ]);
    expect(judgeCommands(policy, bot, [])).toEqual([]);
  });
});

describe('a finding says what happened, by which rule, and what to do', () => {
  const only = (sandbox: Sandbox, ref: string, oldId: string, newId: string) =>
    judgeCommands(policy, sandbox, [command(ref, newId, oldId)])[0]!;

  test('a protected branch: a branch of its own, named after the one that was asked for', () => {
    expect(only(bot, 'refs/heads/master', A, B)).toEqual({
      code: 'push.protected-branch',
      ref: 'refs/heads/master',
      rule: 'policy.protected_branches[1]',
      message: 'master is a protected branch',
      reason: 'protected branch',
      hint: 'Push to a branch of your own, e.g. `git push origin HEAD:sandbox/master`, and open a pull request.',
    });
    expect(only(user, 'refs/heads/main', A, B).hint).toContain('HEAD:work/main`');
    expect(only(sandboxWith({ allowedBranches: ['*'] }), 'refs/heads/main', A, B).hint).toContain('HEAD:YOUR-BRANCH`');
  });

  test('a branch that is not its own: which ones are', () => {
    expect(only(bot, 'refs/heads/fix/it', zeroId, A)).toEqual({
      code: 'push.branch-not-allowed',
      ref: 'refs/heads/fix/it',
      rule: 'allowed_branches of the registration',
      message: 'the branch fix/it is not one that sbx_test may push',
      reason: 'not one of its branches',
      hint: 'Push to one of its branches (sandbox/*), e.g. `git push origin HEAD:sandbox/it`.',
    });
  });

  test.each([
    [['fix-login'], 'x', 'HEAD:fix-login`'],
    [['refs/heads/bot/**'], 'x', 'HEAD:bot/x`'],
    [['refs/tags/*', 'a*'], 'x', 'HEAD:ax`'],
    [['release/*', 'bot/*'], 'x', 'HEAD:bot/x`'],
    [['release/*'], 'x', 'HEAD:YOUR-BRANCH`'],
    [['sandbox/*'], 'x;$(id)|`id`', 'HEAD:sandbox/work`'],
    [
      ['refs/tags/*'],
      'x',
      'It may push to none. To allow some, register the sandbox with "allowed_branches": ["sandbox/*"].',
    ],
    [[], 'x', 'It may push to none. To allow some, register the sandbox with "allowed_branches": ["sandbox/*"].'],
  ])(
    'what is proposed to a bot with %j passes, and is no more to a shell than a name',
    (allowedBranches, name, said) => {
      const by = { ...policy, protectedBranches: [...policy.protectedBranches, compileGlob('release/**')] };
      const { hint } = judgeCommands(by, sandboxWith({ allowedBranches }), [
        command(`refs/heads/${name}`, A, zeroId),
      ])[0]!;
      expect(hint).toContain(said);
      const proposed = /HEAD:(\S+)`/.exec(hint)?.[1];
      if (proposed === undefined || proposed === 'YOUR-BRANCH') return;
      expect(codes(sandboxWith({ allowedBranches }), `refs/heads/${proposed}`, zeroId, A, by)).toEqual([]);
    },
  );

  test('a tag of a bot, a tag that is there, a deletion, another namespace, a misleading name', () => {
    expect(only(bot, 'refs/tags/v1', zeroId, A)).toMatchObject({
      message: 'the tag v1 is not one that sbx_test may push',
      reason: 'a bot may not push this tag',
      hint: 'Ask a person to make the tag. It may push: sandbox/*.',
    });
    expect(only(user, 'refs/tags/v1', A, B)).toMatchObject({
      rule: 'built-in: tags are never moved or deleted',
      message: 'refs/tags/v1 is on the server, and a tag stays where it is',
      hint: 'Create a tag with a new name.',
    });
    expect(only(user, 'refs/heads/x', A, zeroId)).toMatchObject({
      rule: 'policy.allow_branch_deletion',
      message: 'this push would delete the branch x',
      hint: expect.stringContaining('policy.allow_branch_deletion'),
    });
    expect(only(user, 'refs/pull/7/head', A, B)).toMatchObject({
      rule: 'built-in: branches and tags only',
      message: 'refs/pull/7/head is neither a branch nor a tag',
      hint: expect.stringContaining('--mirror'),
    });
    expect(only(user, 'refs/heads/refs/heads/main', zeroId, A)).toMatchObject({
      rule: 'built-in: a name that cannot be mistaken',
      hint: expect.stringContaining('Choose a name'),
    });
  });
});
