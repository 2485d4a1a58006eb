import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { escapeUnseen, replaceUnseen, shortened } from '../../../../src/kit/text/unseen.ts';

// Plain JavaScript for browsers: no module of ours imports it.
const page = pathToFileURL('dashboard/text.js').href;
const { visible } = (await import(page)) as { visible: (value: unknown) => string };

test('the terminal and the page take the same characters for unseen, of all there are', () => {
  const differs: string[] = [];
  let escaped = 0;
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const here = escapeUnseen(character) !== character;
    if (here) escaped++;
    if (here !== (visible(character) !== character)) differs.push(code.toString(16));
  }
  expect(differs).toEqual([]);
  // Most of Unicode is unassigned or private; what people write is not touched.
  expect(escaped).toBeGreaterThan(100_000);
  expect(escapeUnseen('größe 日本 ✓ אב é')).toBe('größe 日本 ✓ אב é');
});

test('a character that is not seen becomes its code', () => {
  expect(escapeUnseen('a\u001b[2J\u00ad\u202e\u3164\u{e0041}\ud800')).toBe(
    'a\\x1b[2J\\xad\\u202e\\u3164\\u{e0041}\\ud800',
  );
});

test('or whatever is to stand in its place', () => {
  expect(replaceUnseen('a\u001b[2J\u202e b', '?')).toBe('a?[2J? b');
});

test('a text that is too long ends in a sign of it', () => {
  expect([shortened('abcd', 4), shortened('abcde', 4)]).toEqual(['abcd', 'abc…']);
});
