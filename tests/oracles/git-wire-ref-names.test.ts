// Which names are refs: ours against `git check-ref-format`, on the edges and on random names made of the characters
// that matter. The names follow from the seed that is printed.
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { isRefName } from '../../src/protocols/git/ref-name.ts';
import { randomFrom } from './http1-corpus.ts';

const SEED = 20260801;
const NAMES = 1500;
const parts = [
  'refs',
  'heads',
  'a',
  '/',
  '/',
  '/',
  '.',
  '..',
  '.lock',
  '@',
  '{',
  '@{',
  ' ',
  '~',
  '^',
  ':',
  '?',
  '*',
  '[',
  '\\',
  '\x7f',
  '\x01',
  '\t',
  '\n',
  'é',
  '\u2028',
  '-',
  'lock',
  'LOCK',
  ']',
  '}',
  '#',
  '"',
  "'",
  '$',
  '%',
  '&',
  '(',
  '|',
];

/** One shell asks git about all of them: a process of ours per name would take a minute. */
function gitSays(names: readonly string[]): boolean[] {
  const script = 'for name in "$@"; do git check-ref-format "$name" 2>/dev/null && echo 1 || echo 0; done';
  const out = execFileSync('sh', ['-c', script, 'sh', ...names], { timeout: 25_000 }).toString();
  return out
    .trim()
    .split('\n')
    .map((line) => line === '1');
}

describe('a name is a ref for us when it is one for git', () => {
  test('on names made of everything that matters', () => {
    console.log(`ref names: seed ${SEED}, ${NAMES} names`);
    const random = randomFrom(SEED);
    const names = Array.from({ length: NAMES }, (_, i) => {
      const middle = Array.from(
        { length: 1 + Math.floor(random() * 4) },
        () => parts[Math.floor(random() * parts.length)],
      ).join('');
      return i % 3 === 0 ? middle : `refs/heads/${middle}`;
    });
    const theirs = gitSays(names);
    expect(theirs).toHaveLength(names.length);
    const different = names.filter((name, i) => isRefName(name) !== theirs[i]);
    expect(different).toEqual([]);
    expect(theirs.filter(Boolean).length).toBeGreaterThan(NAMES / 10);
    expect(theirs.filter((valid) => !valid).length).toBeGreaterThan(NAMES / 10);
  });

  test('on every single byte that can stand in an argument', () => {
    for (const batch of [0, 64]) {
      const names = Array.from({ length: 64 }, (_, i) => `refs/heads/a${String.fromCharCode(batch + i || 1)}b`);
      expect(names.map(isRefName)).toEqual(gitSays(names));
    }
    expect(spawnSync('git', ['check-ref-format', '@']).status).not.toBe(0);
    expect(isRefName('@')).toBe(false);
  });
});
