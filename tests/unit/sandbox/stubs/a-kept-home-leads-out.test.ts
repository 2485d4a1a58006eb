import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { layStubs } from '../../../../src/sandbox/stubs/lay-files.ts';

const options = { workingDirectory: '/project', placeholders: { OPENAI_API_KEY: 'a placeholder' } };
let base: string;
let home: string;
let outside: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-kept-home-'));
  [home, outside] = [join(base, 'home'), join(base, 'outside')];
  for (const folder of [home, outside]) mkdirSync(folder);
});

afterEach(() => rmSync(base, { recursive: true }));

describe('links that a sandbox left in a home that is kept', () => {
  test('lead no file of the next start out of it, neither by a folder nor by a name that is not there yet', () => {
    symlinkSync(outside, join(home, '.codex'));
    symlinkSync(join(outside, 'later'), join(home, '.claude.json'));
    layStubs(home, options);
    expect(readdirSync(outside)).toEqual([]);
  });

  test('and without links the same files are laid, what agents read before they begin among them', () => {
    layStubs(home, options);
    for (const path of ['.claude/CLAUDE.md', '.codex/AGENTS.md', '.gemini/GEMINI.md', '.config/opencode/AGENTS.md'])
      expect(readFileSync(join(home, path), 'utf8'), path).toContain('curl http://sallyport.internal/why');
    expect(readdirSync(home)).toEqual(expect.arrayContaining(['.claude.json', '.codex']));
    expect(readdirSync(join(home, '.codex')).length).toBeGreaterThan(0);
  });

  test('and what an agent or its user wrote into such a file stays', () => {
    mkdirSync(join(home, '.claude'));
    writeFileSync(join(home, '.claude', 'CLAUDE.md'), 'mine');
    layStubs(home, options);
    expect(readFileSync(join(home, '.claude', 'CLAUDE.md'), 'utf8')).toBe('mine');
  });
});
