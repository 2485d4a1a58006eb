import { describe, expect, test } from 'vitest';
import { requirePushRights } from '../../../../../../src/stages/authorize/git/lfs/lfs-push-rights.ts';
import { refusalOf, sandboxWith } from '../../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../../support/hand-made-policy.ts';

const policy = handMadePolicy({});
const user = sandboxWith({ authMode: 'user' });
const bot = sandboxWith({ authMode: 'bot', allowedBranches: ['sandbox/*', 'refs/tags/nightly-*'] });
const idle = sandboxWith({ authMode: 'bot', allowedBranches: [] });

describe('LFS is written to as far as a push would go', () => {
  test.each([
    ['a user for any branch that is not protected', user, 'refs/heads/feature/x'],
    ['a user for a tag', user, 'refs/tags/v1'],
    ['a user who names no ref', user, null],
    ['a bot for its branch', bot, 'refs/heads/sandbox/x'],
    ['a bot for a tag that a pattern names', bot, 'refs/tags/nightly-1'],
    ['a bot that names no ref', bot, null],
  ])('%s', (_, sandbox, ref) => {
    expect(() => requirePushRights(policy, sandbox, ref, 'upload')).not.toThrow();
  });

  test.each([
    ['a user for a protected branch', user, 'refs/heads/main', 'policy.protected_branches[0]'],
    ['a bot for a protected branch', bot, 'refs/heads/master', 'policy.protected_branches[1]'],
    ['a bot for another branch', bot, 'refs/heads/work', 'allowed_branches of the registration'],
    ['a bot for another tag', bot, 'refs/tags/v1', 'allowed_branches of the registration'],
    ['a bot without branches', idle, null, 'allowed_branches of the registration'],
    ['anybody for another namespace', user, 'refs/notes/x', 'built-in: branches and tags only'],
    ['anybody for a name that git would not take', user, 'refs/heads/a b', 'built-in: branches and tags only'],
  ])('not %s', (_, sandbox, ref, rule) => {
    const refusal = refusalOf(() => requirePushRights(policy, sandbox, ref, 'upload'));
    expect([refusal.code, refusal.rule]).toEqual(['lfs.not-allowed', rule]);
    expect(refusal.hint).not.toBe('');
  });
});
