import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../../../src/kit/text/glob.ts';
import { cpuMsOf } from '../../../support/cpu-time.ts';

describe('a glob over names of branches and files', () => {
  test.each([
    ['main', 'main', true],
    ['main', 'main2', false],
    ['main', 'feature/main', false],
    ['sandbox/*', 'sandbox/a', true],
    ['sandbox/*', 'sandbox/a/b', false],
    ['sandbox/*', 'sandbox/', true],
    ['sandbox/**', 'sandbox/a/b', true],
    ['sandbox/**', 'sandbox', false],
    ['release-*', 'release-1.2', true],
    ['release-*', 'release-1/2', false],
    ['**', 'any/thing', true],
    ['*', 'any/thing', false],
    ['refs/tags/v*', 'refs/tags/v1', true],
    ['.github/workflows/**', '.github/workflows/ci.yml', true],
    ['.github/workflows/**', '.github/workflows', false],
    ['.github/workflows/**', 'x.github/workflows/ci.yml', false],
    ['a.c', 'abc', false],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['**/b', 'x/y/b', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*/b', '/b', true],
    ['x/**/b', 'x/b/c', false],
    ['', '', true],
    ['', 'a', false],
  ])('%s on %s is %s', (pattern, name, expected) => {
    expect(compileGlob(pattern).covers(name)).toBe(expected);
  });

  test('keeps the text it was made from', () => {
    expect(compileGlob('sandbox/*').text).toBe('sandbox/*');
  });

  test('no pattern makes it work for long', async () => {
    const glob = compileGlob(`${'**a'.repeat(200)}b`);
    const spentMs = await cpuMsOf(() => {
      expect(glob.covers(`${'a'.repeat(100)}${'x'.repeat(5_000)}ab`)).toBe(false);
      expect(glob.reaches('a'.repeat(5_000))).toBe(true);
    });
    expect(spentMs).toBeLessThan(2_000);
  });
});

describe('a glob tells where it could still match', () => {
  test.each([
    ['.github/workflows/**', '', true],
    ['.github/workflows/**', '.github/', true],
    ['.github/workflows/**', '.github/workflows/', true],
    ['.github/workflows/**', '.github/workflows/deep/er/', true],
    ['.github/workflows/**', '.github/actions/', false],
    ['.github/workflows/**', 'src/', false],
    ['*/x', 'src/', true],
    ['*/x', 'src/y/', false],
    ['**/x', 'src/y/', true],
    ['README', 'README', true],
    ['README', 'README/', false],
  ])('%s, in what begins with "%s": %s', (pattern, beginning, expected) => {
    expect(compileGlob(pattern).reaches(beginning)).toBe(expected);
  });

  /** Every text over these letters up to a length. */
  function* texts(letters: readonly string[], maxLength: number): Generator<string> {
    yield '';
    if (maxLength === 0) return;
    for (const rest of texts(letters, maxLength - 1)) for (const letter of letters) yield letter + rest;
  }
  const letters = ['a', 'b', '/'];
  const extensions = [...new Set(texts(letters, 6))];

  test('no beginning that it does not reach has an extension that it covers; each that it reaches has one', () => {
    const piece = fc.constantFrom('a', 'b', '/', '*', '**', '/**/', '/*', '/**');
    const pattern = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
    const beginning = fc.array(fc.constantFrom(...letters), { maxLength: 5 }).map((each) => each.join(''));
    let unreached = 0;
    fc.assert(
      fc.property(pattern, beginning, (text, start) => {
        // Patterns of paths are only ever held against paths: those begin with a slash.
        fc.pre(!text.startsWith('/') || start === '' || start.startsWith('/'));
        const glob = compileGlob(text);
        const usable = text.startsWith('/') && start === '' ? extensions.filter((e) => e.startsWith('/')) : extensions;
        const covered = usable.find((more) => glob.covers(start + more));
        if (!glob.reaches(start)) {
          unreached++;
          expect(covered, `${text} covers ${start}${covered} and does not reach ${start}`).toBeUndefined();
        } else if (text.replaceAll('*', '').length <= 6) {
          expect(covered, `${text} reaches ${start} and covers nothing that begins with it`).toBeDefined();
        }
      }),
      { numRuns: 2_000 },
    );
    expect(unreached).toBeGreaterThan(100);
  });
});
