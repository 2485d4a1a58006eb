import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalTarget } from '../../../../src/stages/accept/canonical-path.ts';
import { refusalOf } from '../../../support/hand-made-flow.ts';

describe('a path has one reading', () => {
  test.each([
    ['/', '/', null],
    ['/a/b', '/a/b', null],
    ['/a/', '/a/', null],
    ['/a?b', '/a', 'b'],
    ['/a?', '/a', ''],
    ['/a?b?c', '/a', 'b?c'],
    ['/a?../..//%2e%zz', '/a', '../..//%2e%zz'],
    ['/%61', '/a', null],
    ['/a%20b', '/a b', null],
    ['/caf%C3%A9', '/café', null],
    ['/a%2Fb', '/a/b', null],
    ['/100%25', '/100%', null],
    ['/a;b=c', '/a;b=c', null],
    ['/.well-known/x', '/.well-known/x', null],
    ['/a/...', '/a/...', null],
    ['/a..b', '/a..b', null],
    ['/a/b:generate', '/a/b:generate', null],
  ])('%s', (target, path, query) => {
    expect(canonicalTarget(target)).toEqual({ path, rawPath: target.split('?', 1)[0], query });
  });

  test.each([
    ['', 'does not begin'],
    ['a', 'does not begin'],
    ['*', 'does not begin'],
    ['/a b', 'percent-encoded'],
    ['/é', 'percent-encoded'],
    ['/a\x7f', 'percent-encoded'],
    ['/a#b', 'fragment'],
    ['/a?b#c', 'fragment'],
    ['//a', 'empty segment'],
    ['/a//b', 'empty segment'],
    ['/a/%2Fb', 'empty segment'],
    ['/a%2F/b', 'empty segment'],
    ['/a\\b', 'backslash'],
    ['/a%5Cb', 'backslash'],
    ['/..', 'dot segment'],
    ['/.', 'dot segment'],
    ['/a/./b', 'dot segment'],
    ['/a/../b', 'dot segment'],
    ['/a/..', 'dot segment'],
    ['/a/.;x/b', 'dot segment'],
    ['/a/..;/b', 'dot segment'],
    ['/a/%2e/b', 'dot segment'],
    ['/a/.%2E/b', 'dot segment'],
    ['/a%2F..%2Fb', 'dot segment'],
    ['/%252e', 'twice'],
    ['/%25%36%31', 'twice'],
    ['/%00', 'control byte'],
    ['/%0a', 'control byte'],
    ['/%7f', 'control byte'],
    ['/%C2%85', 'control byte'],
    ['/%', 'valid percent-encoded'],
    ['/%f', 'valid percent-encoded'],
    ['/%zz', 'valid percent-encoded'],
    ['/%C0%AE', 'valid percent-encoded'],
    ['/%E0%80%AF', 'valid percent-encoded'],
    ['/%ED%A0%80', 'valid percent-encoded'],
    ['/%FF', 'valid percent-encoded'],
  ])('%j %s', (target, why) => {
    const refusal = refusalOf(() => canonicalTarget(target));
    expect(refusal.code).toBe('malformed.path');
    expect(refusal.message).toContain(why);
  });

  test('the query is not told: it may hold a key', () => {
    expect(refusalOf(() => canonicalTarget('/a/../b?key=hush')).message).not.toContain('hush');
  });

  test('whatever passes reads the same once, twice, and to a URL parser', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      ';',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      '%25',
      '2e',
      'a',
      '%61',
      '?',
      '%c3%a9',
      '%00',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map((parts) => `/${parts.join('')}`),
        (target) => {
          let read: ReturnType<typeof canonicalTarget>;
          try {
            read = canonicalTarget(target);
          } catch (error) {
            expect(error).toMatchObject({ code: 'malformed.path' });
            return;
          }
          expect(read.path).not.toMatch(/\/\/|\\|\/\.{1,2}(\/|$)|%[0-9a-f]{2}/i);
          expect(`${read.rawPath}${read.query === null ? '' : `?${read.query}`}`).toBe(target);
          // Another parser neither normalises it nor finds another path in it.
          const { pathname, search } = new URL(`https://h.example${target}`);
          expect(decodeURIComponent(pathname)).toBe(read.path);
          expect(search.replace(/^\?/, '')).toBe(read.query ?? '');
        },
      ),
      { numRuns: 3000 },
    );
  });
});
