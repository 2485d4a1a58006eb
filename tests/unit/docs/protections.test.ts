import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allPages, readPage, root, tableUnder, testsNamedIn } from './pages.ts';

const promises = tableUnder(readPage('docs/threats.md'), '## What holds, and the test that proves it');
const threats = tableUnder(readPage('docs/threats.md'), '## Threats, controls, tests');

describe('what the documents call protected has a test', () => {
  test.each(promises)('what holds: %s', (_what, proof) => {
    const named = testsNamedIn(proof!);
    expect(named.length).toBeGreaterThan(0);
    for (const path of named) expect(existsSync(join(root, path)), `${path} does not exist`).toBe(true);
  });

  test.each(threats)('threats.md %s: %s', (_number, _threat, control, tests) => {
    expect(control).not.toBe('');
    const named = testsNamedIn(tests!);
    expect(named.length).toBeGreaterThan(0);
    for (const path of named) expect(existsSync(join(root, path)), `${path} does not exist`).toBe(true);
  });

  test('no page names a test that does not exist', () => {
    for (const { path, text } of allPages()) {
      for (const named of testsNamedIn(text)) {
        expect(existsSync(join(root, named)), `${path} names ${named}`).toBe(true);
      }
    }
  });
});

describe('threats keep their numbers', () => {
  const numbers = threats.map(([number]) => number!);

  test('they are T1, T2 … without a gap', () => {
    expect(numbers).toEqual(numbers.map((_, index) => `T${index + 1}`));
  });

  test('every line of the README on what holds names threats of the table', () => {
    const { text } = readPage('README.md');
    const lines = [...text.matchAll(/^\d\. .+$/gm)].map(([line]) => line);
    expect(lines.length).toBe(8);
    for (const line of lines) {
      const named = line.match(/\bT\d+\b/g) ?? [];
      expect(named.length, line).toBeGreaterThan(0);
      expect(numbers).toEqual(expect.arrayContaining(named));
    }
  });

  test('every threat that the source says it guards is in the table', () => {
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
