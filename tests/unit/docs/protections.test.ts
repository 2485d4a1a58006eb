import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allPages, readPage, root, testsNamedIn } from './pages.ts';
import { readIndex, readPromises, readThreats } from './threats.ts';

const promises = readPromises();
const threats = readThreats();

describe('what the documents call protected has a test', () => {
  test('there are promises to check', () => {
    expect(promises.length).toBeGreaterThan(50);
  });

  test.each(promises)('what holds: $promise', ({ promise, tests }) => {
    expect(promise).not.toBe('');
    expectTests(tests);
  });

  test.each(threats)('$number: $threat', ({ controls, tests }) => {
    expect(controls.length).toBeGreaterThan(0);
    expectTests(tests);
  });

  function expectTests(named: readonly string[]): void {
    expect(named.length).toBeGreaterThan(0);
    for (const path of named) expect(existsSync(join(root, path)), `${path} does not exist`).toBe(true);
  }

  test('no page names a test that does not exist', () => {
    for (const { path, text } of allPages()) {
      for (const named of testsNamedIn(text)) {
        expect(existsSync(join(root, named)), `${path} names ${named}`).toBe(true);
      }
    }
  });
});

describe('threats keep their numbers', () => {
  const numbers = threats.map(({ number }) => number);

  test('they are T1, T2 … without a gap, each on one page', () => {
    expect(numbers.length).toBeGreaterThan(100);
    expect(numbers).toEqual(numbers.map((_, index) => `T${index + 1}`));
  });

  test('the index has each of them once, in the same words, and leads to its page', () => {
    const index = readIndex().sort((a, b) => Number(a.number.slice(1)) - Number(b.number.slice(1)));
    expect(index).toEqual(threats.map(({ number, page, threat }) => ({ number, page, threat })));
  });

  test('the pages have lines that a person can read', () => {
    const pages = allPages().filter(({ path }) => path.startsWith('docs/threats') || path.startsWith('docs/policy'));
    expect(pages.length).toBeGreaterThan(20);
    for (const { path, text } of pages) {
      const longest = path.startsWith('docs/threats') ? 200 : 350;
      for (const line of text.split('\n')) expect(line.length, `${path}: ${line.slice(0, 60)}`).toBeLessThan(longest);
    }
  });

  test('every line of the README on what holds names threats that there are', () => {
    const { text } = readPage('README.md');
    const lines = [...text.matchAll(/^\d\. .+$/gm)].map(([line]) => line);
    expect(lines.length).toBe(8);
    for (const line of lines) {
      const named = line.match(/\bT\d+\b/g) ?? [];
      expect(named.length, line).toBeGreaterThan(0);
      expect(numbers).toEqual(expect.arrayContaining(named));
    }
  });

  test('every threat that the source says it guards is on a page', () => {
    const guarded = sourceTexts().flatMap((text) =>
      [...text.matchAll(/threats\.md ((?:T\d+(?:, )?)+)/g)].flatMap((match) => match[1]!.match(/T\d+/g)!),
    );
    expect(guarded.length).toBeGreaterThan(5);
    for (const number of guarded) expect(numbers).toContain(number);
  });
});

describe('decisions', () => {
  const files = readdirSync(join(root, 'docs/adr')).sort();

  test('are numbered without a gap, and each says its status, context, decision and consequences', () => {
    expect(files.map((name) => name.slice(0, 3))).toEqual(files.map((_, index) => String(index).padStart(3, '0')));
    for (const name of files) {
      const { text } = readPage(`docs/adr/${name}`);
      expect(text, name).toMatch(new RegExp(`^# ${name.slice(0, 3)}: `));
      for (const part of ['- Status: ', '## Context', '## Decision', '## Consequences']) {
        expect(text, name).toContain(part);
      }
    }
  });

  test('that the source refers to are there', () => {
    const named = sourceTexts().flatMap((text) => [...text.matchAll(/docs\/adr\/(\d{3})/g)].map((match) => match[1]!));
    expect(named.length).toBeGreaterThan(0);
    for (const number of named) expect(files.some((name) => name.startsWith(number))).toBe(true);
  });
});

function sourceTexts(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(root, 'src', name), 'utf8'));
}
