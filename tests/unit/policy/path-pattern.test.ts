import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePathPattern } from '../../../src/policy/path-pattern.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';

function covers(text: string, path: string): boolean {
  const parsed = parsePathPattern(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value.covers(path);
}

const problem = (text: string): string => {
  const parsed = parsePathPattern(text);
  return 'problem' in parsed ? parsed.problem : '';
};

describe('a path pattern', () => {
  test.each([
    ['/v1/messages', '/v1/messages', true],
    ['/v1/messages', '/v1/messages/', false],
    ['/v1/messages', '/v1/message', false],
    ['/**', '/', true],
    ['/**', '/a/b', true],
    ['/v1/**', '/v1/', true],
    ['/v1/**', '/v1/a/b', true],
    ['/v1/**', '/v1', false],
    ['/v1/**', '/v1beta/a', false],
    ['/v1/**', '/V1/a', false],
    ['/*', '/a', true],
    ['/*', '/a/b', false],
    ['/*/*/info/refs', '/o/r.git/info/refs', true],
    ['/*/*/info/refs', '/o/r/x/info/refs', false],
    ['/*/*/info/refs', '/o/info/refs', false],
    ['/**/info/refs', '/info/refs', true],
    ['/**/info/refs', '/a/b/c.git/info/refs', true],
    ['/**/info/refs', '/a/xinfo/refs', false],
    ['/a/**/b', '/a/b', true],
    ['/a/**/b', '/a/x/y/b', true],
    ['/a/**/b', '/a/xb', false],
    ['/a/**/b', '/ab', false],
    ['/a**b', '/a/x/b', true],
    ['/pre*post', '/prepost', true],
    ['/pre*post', '/pre-and-post', true],
    ['/pre*post', '/pre/post', false],
    ['/x.*/y', '/x.v1/y', true],
    ['/x.*/y', '/xav1/y', false],
    ['/a+b(c)$', '/a+b(c)$', true],
    ['/*/*/x/**', '/a/b/x/c/d', true],
  ])('%s on %s is %s', (text, path, expected) => {
    expect(covers(text, path)).toBe(expected);
  });

  test('agrees with a plain recursive reading of the same rules, for any pattern and path', () => {
    const piece = fc.constantFrom('a', 'b', '/', '*', '**', '/**/', '/*');
    const text = fc.array(piece, { maxLength: 7 }).map((pieces) => `/${pieces.join('')}`);
    const path = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 9 }).map((letters) => `/${letters.join('')}`);
    fc.assert(
      fc.property(text, path, (pattern, target) => {
        fc.pre(problem(pattern) === '' && !target.includes('//'));
        expect(covers(pattern, target), `${pattern} on ${target}`).toBe(matchSlowly(pattern, target));
      }),
      { numRuns: 3000 },
    );
  });

  test('stays fast on a pattern and path made to backtrack', async () => {
    const spentMs = await cpuMsOf(() => {
      expect(covers(`/${'*a'.repeat(60)}b`, `/${'a'.repeat(8000)}`)).toBe(false);
      expect(covers(`/${'**/a/'.repeat(40)}b`, `/${'a/'.repeat(4000)}`)).toBe(false);
    });
    expect(spentMs).toBeLessThan(1000);
  });

  test('that could be misread is refused with what to write instead', () => {
    expect(problem('v1/**')).toContain('begins with /');
    expect(problem('https://a.example/v1')).toContain('without scheme and host');
    expect(problem('/v1?x=1')).toContain('leave out the query');
    expect(problem('/a%20b')).toContain('decoded path');
    expect(problem('/{a,b}')).toContain('one pattern per path');
    expect(problem('/a/../b')).toContain('never arrives');
    expect(problem('/a//b')).toContain('never arrives');
    expect(problem('/***')).toContain('**');
    expect(problem('/a\nb')).toContain('control');
  });
});

function matchSlowly(pattern: string, path: string, before = ''): boolean {
  if (pattern === '') return path === '';
  if (pattern.startsWith('**/') && before === '/') {
    // No segment at all, or any number of whole ones.
    if (matchSlowly(pattern.slice(3), path, '/')) return true;
    for (let i = 0; i < path.length; i++) {
      if (path[i] === '/' && matchSlowly(pattern.slice(3), path.slice(i + 1), '/')) return true;
    }
    return false;
  }
  if (pattern.startsWith('**')) {
    for (let i = 0; i <= path.length; i++) if (matchSlowly(pattern.slice(2), path.slice(i), '*')) return true;
    return false;
  }
  if (pattern.startsWith('*')) {
    for (let i = 0; i <= path.length; i++) {
      if (matchSlowly(pattern.slice(1), path.slice(i), '*')) return true;
      if (path[i] === '/') return false;
    }
    return false;
  }
  return path[0] === pattern[0] && matchSlowly(pattern.slice(1), path.slice(1), pattern[0]);
}
