import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../../../../src/kit/text/glob.ts';
import {
  allowsRef,
  isProtectedBranch,
  protectedPrefixes,
} from '../../../../../src/stages/authorize/git/branch-rules.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policyWith = (...patterns: string[]) => ({ ...handMadePolicy({}), protectedBranches: patterns.map(compileGlob) });

describe('a protected branch', () => {
  test.each([
    ['main', 'policy.protected_branches[0]'],
    ['Main', 'policy.protected_branches[0]'],
    ['main2', null],
    ['feature/main', null],
    ['release/1.0', 'policy.protected_branches[1]'],
    ['RELEASE/1.0', 'policy.protected_branches[1]'],
    ['release/1/x', null],
    ['hot/a/b', 'policy.protected_branches[2]'],
    ['hot', null],
  ])('%s: %s', (branch, rule) => {
    expect(isProtectedBranch(policyWith('main', 'release/*', 'hot/**'), branch)).toBe(rule);
  });

  test('none is, where the policy names none', () => {
    expect(isProtectedBranch(policyWith(), 'main')).toBeNull();
  });

  test('is looked for on a server by how its name begins, so that none is missed', () => {
    const patterns = ['main', 'release/*', 'rel*/x', '**', '*'];
    expect(protectedPrefixes(policyWith(...patterns))).toEqual([
      'refs/heads/main',
      'refs/heads/release/',
      'refs/heads/rel',
      'refs/heads/',
      'refs/heads/',
    ]);
  });
});

describe('the refs that a sandbox may push', () => {
  const bot = sandboxWith({ allowedBranches: ['sandbox/*', 'deep/**', 'refs/tags/bot-*', 'refs/heads/exact'] });

  test.each([
    ['refs/heads/sandbox/a', true],
    ['refs/heads/sandbox/a/b', false],
    ['refs/heads/sandbox', false],
    ['refs/heads/Sandbox/a', false],
    ['refs/heads/deep/a/b', true],
    ['refs/heads/exact', true],
    ['refs/tags/bot-1', true],
    ['refs/tags/sandbox/a', false],
    ['refs/tags/exact', false],
    ['refs/notes/sandbox/a', false],
    ['sandbox/a', false],
  ])('a bot, %s: %s', (ref, expected) => {
    expect(allowsRef(bot, ref)).toBe(expected);
  });

  test('a bot without a list may push none, a user all that no other rule is against', () => {
    expect(allowsRef(sandboxWith({ allowedBranches: [] }), 'refs/heads/a')).toBe(false);
    const user = sandboxWith({ authMode: 'user', allowedBranches: [] });
    expect(['refs/heads/a', 'refs/tags/v1'].map((ref) => allowsRef(user, ref))).toEqual([true, true]);
  });

  test('each sandbox has its own list, and a list is read once', () => {
    const allowedBranches = ['a/*'];
    const one = sandboxWith({ allowedBranches });
    const other = sandboxWith({ allowedBranches: ['b/*'] });
    for (let n = 0; n < 2; n++) {
      expect([allowsRef(one, 'refs/heads/a/x'), allowsRef(other, 'refs/heads/a/x')]).toEqual([true, false]);
    }
  });
});
