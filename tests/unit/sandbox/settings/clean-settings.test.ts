// What is taken out of a settings document, and what stays: beside each secret there is something harmless that looks like it.
import { expect, test } from 'vitest';
import { cleanSettings } from '../../../../src/sandbox/settings/clean-settings.ts';
import { withoutComments } from '../../../../src/sandbox/settings/copy-settings.ts';
import { secretWords } from '../../../../src/sandbox/settings/secret-words.ts';

const words = secretWords(['known-word-from-a-file'], { MY_API_KEY: 'value-of-a-variable' });
const clean = (value: unknown) => cleanSettings(value, words);

test.each([
  [{ apiKey: 'short' }, {}],
  [{ api_key: `\${MY_KEY}` }, { api_key: `\${MY_KEY}` }],
  [
    { env_key: 'OPENAI_API_KEY', bearer_token_env_var: 'X' },
    { env_key: 'OPENAI_API_KEY', bearer_token_env_var: 'X' },
  ],
  [
    { maxTokens: 4096, token: 5 },
    { maxTokens: 4096, token: 5 },
  ],
  [{ a: 'known-word-from-a-file' }, {}],
  [{ a: ['x value-of-a-variable', 'y'] }, { a: ['y'] }],
  [{ 'known-word-from-a-file': 1 }, {}],
  [{ tokens: ['a', 'b'] }, {}],
  [{ model: 'claude-sonnet-4-5-20250929', note: 'a longer sentence of plain words' }, null],
  [{ x: 'a1b2c3d4e5f6a7b8c9d0e1f2' }, {}],
  [{ url: 'https://docs.example/guide/getting-started' }, null],
  [{ url: 'https://docs.example/?token=x' }, {}],
  [{ url: 'https://docs.example/3f2504e0-4f89-11d3-9a0c-0305e82c3301/sse' }, {}],
  [
    { env: { NUMBER: 3, FLAG: true, HOME: '/srv/x', ANY: 'two words' } },
    { env: { NUMBER: 3, FLAG: true, HOME: '/srv/x' } },
  ],
  [
    { headers: { Accept: 'text/plain', Authorization: `Bearer \${T}` } },
    { headers: { Authorization: `Bearer \${T}` } },
  ],
  [
    { mcp: { a: { command: ['x', '--key', 'v'] }, b: { command: ['x', '--keep', 'v'] } } },
    { mcp: { b: { command: ['x', '--keep', 'v'] } } },
  ],
  [{ mcpServers: { a: { url: 'https://u:p@h.example/' } } }, { mcpServers: {} }],
])('%j', (value, expected) => {
  const { value: got, leftOut } = clean(value);
  expect(got).toEqual(expected ?? value);
  expect(leftOut.length > 0).toBe(expected !== null && JSON.stringify(expected) !== JSON.stringify(value));
});

test('what is too deep is not looked at, and not kept', () => {
  let deep: unknown = 'known-word-from-a-file';
  for (let level = 0; level < 60; level++) deep = { a: deep };
  expect(JSON.stringify(clean(deep).value)).not.toContain('known-word');
});

test('what was taken out is told by its place alone', () => {
  expect(clean({ env: { A_TOKEN: 'secret' } }).leftOut).toEqual(['env.A_TOKEN']);
});

test('comments and last commas go, and nothing inside of strings', () => {
  const text = '{ // one\n "a": "http://x/* no */", /* two */ "b": [1, 2,], "c": "\\",]" }';
  expect(JSON.parse(withoutComments(text))).toEqual({ a: 'http://x/* no */', b: [1, 2], c: '",]' });
});

test('a text is judged by its words', () => {
  for (const text of ['password: tr0ub4dor', 'export API_KEY=abc12345x', 'it says value-of-a-variable there'])
    expect(words.isInText(text), text).toBe(true);
  for (const text of [
    'Never print a token: ask first.',
    'password: $PASSWORD',
    'secret: <your secret 1>',
    'Use the api key of the vault.',
  ])
    expect(words.isInText(text), text).toBe(false);
});
