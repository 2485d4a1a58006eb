import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { userKeyPlaces } from '../../../src/inject/user-key-places.ts';
import { placeholderMark, placeholderVariables, usableCredentials } from '../../../src/launch/placeholders.ts';

const presets = parse(readFileSync(new URL('../../../config/presets.yaml', import.meta.url), 'utf8')) as Record<
  string,
  { credentials?: Record<string, unknown> }
>;
const known = Object.entries(presets)
  .filter(([name]) => !name.startsWith('.'))
  .flatMap(([, { credentials }]) => Object.keys(credentials ?? {}));
/** They are tokens of a login, which no variable of a client holds. */
const logins = ['chatgpt', 'vertex'];

describe('placeholders stand where tools look for a key', () => {
  test.each(known.filter((name) => !logins.includes(name)))('the credential %s of the presets has one', (name) => {
    const variables = placeholderVariables(new Set([name]));
    expect(Object.keys(variables).length).toBeGreaterThan(0);
    for (const value of Object.values(variables)) expect(value).toContain(placeholderMark);
  });

  test('each has the shape its client looks for', () => {
    const variables = placeholderVariables(new Set(known));
    expect(variables).toMatchObject({
      ANTHROPIC_API_KEY: expect.stringMatching(/^sk-ant-api03-[\w-]{20,}$/),
      OPENAI_API_KEY: expect.stringMatching(/^sk-[\w-]{20,}$/),
      CODEX_API_KEY: variables.OPENAI_API_KEY,
      GEMINI_API_KEY: expect.stringMatching(/^AIza[\w-]{35,}$/),
      GH_TOKEN: expect.stringMatching(/^ghp_[\w-]{36,}$/),
      GITHUB_TOKEN: variables.GH_TOKEN,
    });
  });

  test('a credential that is not set has none, so that the client says by itself that it has no key', () => {
    expect(Object.keys(placeholderVariables(new Set(['github', 'vertex', 'my-api'])))).toEqual([
      'GH_TOKEN',
      'GITHUB_TOKEN',
    ]);
  });

  test('gemini is not made to warn about two keys', () => {
    expect(placeholderVariables(new Set(['google']))).not.toHaveProperty('GOOGLE_API_KEY');
  });

  test.each([...userKeyPlaces].filter(([name]) => name !== 'google'))(
    'every variable that the key of %s is taken from has a placeholder in its place',
    (name, { variables }) => {
      expect(Object.keys(placeholderVariables(new Set([name])))).toEqual(expect.arrayContaining([...variables]));
    },
  );
});

describe('what a sandbox can count on', () => {
  const listed = [
    { name: 'set', source: '~/.codex/auth.json', set: true, error: null },
    { name: 'unset', source: 'memory', set: false, error: null },
    { name: 'broken', source: 'file', set: false, error: 'it does not exist' },
    { name: 'command', source: 'command', set: false, error: null },
    { name: 'failed', source: 'command', set: false, error: 'it ended with code 4' },
  ];

  test('is what is set, and what a command may still print', () => {
    expect([...usableCredentials(listed, null)]).toEqual(['set', 'command']);
  });

  test('is no more than what it was granted', () => {
    expect([...usableCredentials(listed, ['command', 'unset'])]).toEqual(['command']);
    expect([...usableCredentials(listed, [])]).toEqual([]);
  });
});
