import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { placeholderMark, placeholderSigns } from '../../../../src/kit/text/placeholder.ts';
import { placeholderVariables, usableCredentials, usableLogins } from '../../../../src/sandbox/stubs/placeholders.ts';
import { userKeyPlaces } from '../../../../src/stages/inject/sources/user-key-places.ts';

const presets = parse(readFileSync(new URL('../../../../config/presets.yaml', import.meta.url), 'utf8')) as Record<
  string,
  { credentials?: Record<string, unknown> }
>;
const known = Object.entries(presets)
  .filter(([name]) => !name.startsWith('.'))
  .flatMap(([, { credentials }]) => Object.keys(credentials ?? {}));
/** They are tokens of a login, which no variable of a client holds. */
const logins = ['chatgpt', 'gemini', 'copilot', 'vertex'];

describe('placeholders stand where tools look for a key', () => {
  test.each(known.filter((name) => !logins.includes(name)))('the credential %s of the presets has one', (name) => {
    const variables = placeholderVariables(new Set([name]));
    expect(Object.keys(variables).length).toBeGreaterThan(0);
    const marks = [placeholderMark, ...placeholderSigns(name)];
    for (const value of Object.values(variables))
      expect(
        marks.some((mark) => value.includes(mark)),
        value,
      ).toBe(true);
  });

  test('each has the shape its client looks for', () => {
    const variables = placeholderVariables(new Set(known.filter((name) => !logins.includes(name))));
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

  test('AWS has a pair, of which the one without room for words is known all the same', () => {
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key } = placeholderVariables(new Set(['aws']));
    expect(id).toMatch(/^AKIA[A-Z0-9]{16}$/);
    expect(placeholderSigns('aws')).toContain(id);
    expect(key).toContain(placeholderMark);
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

describe('a login has no variable', () => {
  test('because a key in the environment would count more than the file', () => {
    expect(placeholderVariables(new Set(['anthropic', 'groq']), new Set(['anthropic']))).toEqual({
      GROQ_API_KEY: expect.stringContaining(placeholderMark),
    });
  });

  test('and codex is not given a key beside its login, though other tools are', () => {
    const variables = placeholderVariables(new Set(['openai', 'chatgpt']));
    expect(Object.keys(variables)).toEqual(['OPENAI_API_KEY']);
  });

  test('only what is usable and known to be a login is one', () => {
    const facts = { source: 'login', set: true, error: null };
    const listed = [
      { name: 'anthropic', login: true, ...facts },
      { name: 'gemini', login: true, ...facts },
      { name: 'openai', login: false, ...facts },
      { name: 'groq', ...facts },
    ];
    expect(usableLogins(listed, new Set(['anthropic', 'openai', 'groq']))).toEqual(['anthropic']);
  });
});

describe('what a sandbox can count on', () => {
  const listed = [
    { name: 'set', set: true, unasked: false },
    { name: 'unset', set: false, unasked: false },
    { name: 'command', set: false, unasked: true },
  ];

  test('is what is set, and what a command may still print', () => {
    expect([...usableCredentials(listed, null)]).toEqual(['set', 'command']);
  });

  test('is no more than what it was granted', () => {
    expect([...usableCredentials(listed, ['command', 'unset'])]).toEqual(['command']);
    expect([...usableCredentials(listed, [])]).toEqual([]);
  });
});
