import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quoteForShell, quoteIfNeeded } from '../../../../src/kit/text/shell-quote.ts';

test.each([quoteForShell, quoteIfNeeded])('a shell takes every word as it is (%o)', (quote) => {
  // eval stops at a NUL, which no word can hold; a lone surrogate is no text that could reach a program.
  const word = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !text.includes('\0'));
  const odd = [
    "it's",
    '$(id)',
    '`id`',
    '\\',
    '\n',
    '-n',
    '',
    "'",
    '"',
    '*',
    '~',
    '#x',
    '!x',
    'a;b',
    '~/x',
    'a b',
    '%1',
    'x=$y',
    '/home/ann/it is',
  ];
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const all = [...odd, ...words];
      const script = `printf '%s\\001' ${all.map(quote).join(' ')}`;
      expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\u0001').slice(0, -1)).toEqual(
        all.flatMap((each) => each.split('\u0001')),
      );
    }),
    { numRuns: 20 },
  );
});

test('a word with a NUL byte is refused', () => {
  expect(() => quoteForShell('a\0b')).toThrow(/NUL/);
});

test('what means nothing to a shell is left for people to read', () => {
  expect(['/home/ann/sallyport.yaml', '/home/ann/my work'].map(quoteIfNeeded)).toEqual([
    '/home/ann/sallyport.yaml',
    "'/home/ann/my work'",
  ]);
});
