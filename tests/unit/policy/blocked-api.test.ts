import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { literalPrefix, parseBlockedApiPattern } from '../../../src/policy/blocked-api.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';
import { errorsOf, policyOf } from './pretend-machine.ts';

function matches(text: string, path: string): boolean {
  const parsed = parseBlockedApiPattern(text, 'rule');
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value.matches(path);
}

describe('blocked API patterns', () => {
  test("without a block of its own, the plan's three are in force", async () => {
    const { blockedApiPatterns } = await policyOf('version: 1\n');
    const blocked = (method: string, path: string): string | undefined =>
      blockedApiPatterns.get(method)?.find((pattern) => pattern.matches(path))?.rule;
    expect(blocked('PUT', '/repos/o/r/pulls/7/merge')).toBe('policy.blocked_api_patterns.PUT[0]');
    expect(blocked('POST', '/repos/o/r/releases')).toBe('policy.blocked_api_patterns.POST[0]');
    expect(blocked('DELETE', '/repos/o/r')).toBe('policy.blocked_api_patterns.DELETE[0]');
    expect(blocked('DELETE', '/repos/o/r/git/refs/heads/x')).toBeUndefined();
    expect(blocked('GET', '/repos/o/r')).toBeUndefined();
  });

  test('a block of its own replaces them, and names each by its place', async () => {
    const { blockedApiPatterns } = await policyOf(
      'version: 1\npolicy: {blocked_api_patterns: {POST: ["^/a$", "^/b$"]}}\n',
    );
    expect([...blockedApiPatterns.keys()]).toEqual(['POST']);
    expect(blockedApiPatterns.get('POST')!.map((pattern) => pattern.rule)).toEqual([
      'policy.blocked_api_patterns.POST[0]',
      'policy.blocked_api_patterns.POST[1]',
    ]);
  });

  test('a trailing slash does not dodge a pattern that ends in $', () => {
    expect(matches('^/repos/[^/]+/[^/]+$', '/repos/o/r/')).toBe(true);
    expect(matches('^/repos/[^/]+/[^/]+$', '/repos/o/r/x')).toBe(false);
  });

  test('an evil pattern and path stay fast', async () => {
    const spentMs = await cpuMsOf(() => {
      expect(matches('^/(a+)+$', `/${'a'.repeat(8000)}!`)).toBe(false);
      expect(matches('(.*a){20}b', `/${'a'.repeat(8000)}`)).toBe(false);
    });
    expect(spentMs).toBeLessThan(3000);
  });

  test('the quick look at the first letters never changes the answer', () => {
    const texts = [
      '^/ab',
      '^/ab?c',
      '^/ab*',
      '^/a|^/b',
      '^/a(b|c)',
      '(?i)^/A',
      '^(?i)/A',
      '^/ab{0}c',
      '^/a\\.b',
      '/b',
      '^/ab+$',
    ];
    const path = fc.array(fc.constantFrom('a', 'b', 'c', 'A', '.', '/'), { maxLength: 5 }).map((l) => `/${l.join('')}`);
    fc.assert(
      fc.property(fc.constantFrom(...texts), path, (text, target) => {
        const plain = RE2JS.compile(text);
        const slash = target.length > 1 && target.endsWith('/') && plain.test(target.slice(0, -1));
        expect(matches(text, target)).toBe(plain.test(target) || slash);
      }),
      { numRuns: 2000 },
    );
    expect(literalPrefix('^/repos/[^/]+')).toBe('/repos/');
    expect(literalPrefix('^/ab?c')).toBe('/a');
  });

  test('what RE2 cannot run in linear time, or cannot read, is an error with its place', async () => {
    const errors = await errorsOf(
      'version: 1\npolicy:\n  blocked_api_patterns:\n    GET: ["(?=x)", "(a)\\\\1", "[", ""]\n',
    );
    expect(errors.map((error) => error.path)).toEqual([0, 1, 2, 3].map((i) => `policy.blocked_api_patterns.GET[${i}]`));
    expect(errors[0]!.message).toContain('RE2');
  });
});
