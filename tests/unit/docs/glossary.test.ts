// One language for code, pages and messages: words that were given up stay out, and a name is declared once.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPage, root } from './pages.ts';

/** docs/glossary.md has the words to use instead. */
const givenUp: readonly (readonly [word: string, pattern: RegExp])[] = [
  ['desk', /(?<!free|fresh|zen)desk(?!top)/i],
  ['wish', /wish/i],
  ['grasp', /grasp/i],
  ['lead home', /\b(?:lead|leads|led|leading)[ -]?home\b/i],
  ['page-for-people', /page-for-people|pageForPeople/i],
  ['told as the beginning of a name', /\b[tT]old[A-Z]\w*/],
  ['gateway-workers', /gateway-workers|worker-gateway/i],
];
/** ADRs tell what was; the other pages, the code and the dashboard tell what is. */
const folders = ['src', 'docs', 'dashboard'];
const files = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((f) => join(folder, f)),
  )
  .filter((file) => /\.(?:ts|js|md|html|css)$/.test(file) && !file.startsWith('docs/adr/'));
const sources = files.filter((file) => file.startsWith('src/') && file.endsWith('.ts'));

describe('words', () => {
  test.each(givenUp)('%s occurs nowhere', (_word, pattern) => {
    const found = files.flatMap((file) => {
      // Names of test files are the tests' own.
      const lines = readFileSync(join(root, file), 'utf8')
        .replaceAll(/tests\/[\w/.-]+\.test\.ts/g, 'a test')
        .split('\n');
      return lines.flatMap((line, at) => (pattern.test(line) ? [`${file}:${at + 1}`] : []));
    });
    expect(files.length).toBeGreaterThan(500);
    expect(found).toEqual([]);
  });

  test('the patterns find what they are for, and leave plain English alone', () => {
    const hits = (line: string): string[] => givenUp.flatMap(([word, pattern]) => (pattern.test(line) ? [word] : []));
    expect(hits('const peopleDesk = led home by a wish')).toEqual(['desk', 'wish', 'lead home']);
    expect(hits('the desktop is told of zendesk.com and freshdesk.com: { told }')).toEqual([]);
    expect(hits('interface ToldSandbox')).toEqual(['told as the beginning of a name']);
  });
});

describe('names', () => {
  test('no two files export a type or class of the same name', () => {
    const byName = new Map<string, string[]>();
    for (const file of sources) {
      const text = readFileSync(join(root, file), 'utf8');
      for (const match of text.matchAll(/^export (?:abstract )?(?:type|interface|class|enum) (\w+)/gm)) {
        byName.set(match[1]!, [...(byName.get(match[1]!) ?? []), file]);
      }
    }
    expect(byName.size).toBeGreaterThan(500);
    expect([...byName].filter(([, where]) => where.length > 1)).toEqual([]);
  });
});

describe('docs/glossary.md', () => {
  const rows = [...readPage('docs/glossary.md').text.matchAll(/^\| ([a-z -]+?) +\| (.+?) +\|$/gm)].filter(
    ([, term]) => term !== 'term' && !/^-+$/.test(term!),
  );

  test('has each term once, in one line', () => {
    const terms = rows.map(([, term]) => term!);
    expect(terms.length).toBeGreaterThan(50);
    expect(new Set(terms).size).toBe(terms.length);
    for (const [, term, meaning] of rows) expect(meaning!.length, term).toBeLessThan(150);
  });
});
