import { describe, expect, test } from 'vitest';
import { defaultEffects, type GithubEffect, githubEffects } from '../../../../../src/path/github-effects.ts';
import { allowsEffect, demandEffect } from '../../../../../src/stages/authorize/github/demand-effect.ts';
import { refusalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policy = {
  ...handMadePolicy({}),
  githubEffects: { bot: new Set<GithubEffect>(['read']), user: new Set<GithubEffect>(['read', 'merge']) },
};

describe('an effect is allowed by the list of the sandbox’s mode and by nothing else', () => {
  test('each mode has its own', () => {
    expect(allowsEffect(policy, sandboxWith({ authMode: 'user' }), 'merge')).toBe(true);
    expect(allowsEffect(policy, sandboxWith({ authMode: 'bot' }), 'merge')).toBe(false);
    expect(() => demandEffect(policy, sandboxWith({ authMode: 'user' }), 'merge', 'x')).not.toThrow();
  });

  test('a refusal says what was asked, what it would do, by which rule, and what would allow it', () => {
    const refusal = refusalOf(() => demandEffect(policy, sandboxWith({ authMode: 'bot' }), 'merge', 'PUT /x'));
    expect(refusal).toMatchObject({
      code: 'github.effect',
      status: 403,
      rule: 'github.effects.bot',
      message: `PUT /x is not allowed: its effect is "merge" (${githubEffects.merge})`,
    });
    expect(refusal.hint).toContain('github: {effects: {bot: {allow: [merge]}}}');
  });

  test('what is missing of the default was blocked, and allowing it would change nothing', () => {
    const refusal = refusalOf(() => demandEffect(policy, sandboxWith({ authMode: 'user' }), 'issue', 'POST /x'));
    expect(refusal.hint).toContain('take issue out of github.effects.user.block.');
    expect(refusal.hint).not.toContain('allow: [issue]');
  });

  test('by default nothing that only a person should do', () => {
    const left = Object.keys(githubEffects).filter((effect) => !defaultEffects.includes(effect as GithubEffect));
    expect(left).toEqual(
      expect.arrayContaining(
        'approve merge release delete-repository settings protection collaborators secrets keys hooks workflow'.split(
          ' ',
        ),
      ),
    );
    expect([...defaultEffects].sort()).toEqual(
      ['read', 'read-public', 'identity', 'issue', 'pull', 'review', 'push', 'git-object'].sort(),
    );
  });
});
