// Policy documents, damaged: every one is a policy or a list of errors with a place in the file; nothing is thrown, nothing
// hangs on aliases that unfold, and a policy that was read allows no host that is not in its text.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadPolicyText } from '../../../src/policy/load/load-policy.ts';
import { formatPolicyError } from '../../../src/policy/schema/policy-error.ts';
import { mutatedText } from '../../support/fuzz-mutations.ts';
import { fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { pretendMachine } from '../../unit/policy/pretend-machine.ts';

reportFuzz('policy documents');

const example = readFileSync(new URL('../../../config/policy.yaml.example', import.meta.url), 'utf8');
const small = [
  'version: 1\nallow:\n  - host: api.example\n    methods: [GET, POST]\n    paths: ["/v1/**"]\n  - preset: github\n',
  'version: 1\nlisten: { proxy: 127.0.0.1:8080 }\nallow: [{ host: "*.corp.example", tunnel: true }]\n',
  'version: 1\nallow: [&h { host: a.example }, *h]\ncredentials:\n  k: { hosts: [a.example], inject: { header: x-api-key }, source: { file: /x } }\n',
  'version: 1\npolicy:\n  blocked_api_patterns: { PUT: ["^/repos/[^/]+/merge$"] }\n  protected_branches: [main]\nlimits: { requests_per_minute: 600 }\n',
  'version: 1\nupstream: { resolve: { a.example: "127.0.0.1:9" }, proxy: "http://p.example:3128" }\ngithub: { hosts: [ghe.example] }\n',
];

/** Documents that were read, so far. */
let taken = 0;

async function isPolicyOrErrors(text: string): Promise<void> {
  const result = await loadPolicyText(text, 'sallyport.yaml', '/etc/sallyport', pretendMachine());
  if (!result.ok) {
    expect(result.errors.length).toBeGreaterThan(0);
    for (const error of result.errors)
      expect(formatPolicyError(error)).toMatch(/^sallyport\.yaml:[1-9]\d*:[1-9]\d*: ./s);
    return;
  }
  taken++;
  // No wildcard covers it, because a wildcard needs two labels behind it.
  expect(result.policy.rulesFor('nowhere.invalid')).toEqual([]);
}

/** Each list holds the one before it nine times. */
const unfolding = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghijk'
  .split('')
  .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(',')}]`)
  .join('\n')}`;

describe('a damaged policy document', () => {
  test('is read or explained', { timeout: fuzzTimeoutMs }, async () => {
    taken = 0;
    await fuzzSlowly(mutatedText([...small, ...small, ...small, example]), 300, isPolicyOrErrors);
    // Where none was, nothing would be said of what a policy allows.
    expect(taken).toBeGreaterThan(3);
  });

  test('of any shape is read or explained', { timeout: fuzzTimeoutMs }, async () => {
    const key = fc.constantFrom(
      'version',
      'allow',
      'listen',
      'credentials',
      'policy',
      'limits',
      'budgets',
      'store',
      'upstream',
      'github',
      'git',
      '__proto__',
      'constructor',
    );
    const document = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });
    await fuzzSlowly(document, 120, (value) => isPolicyOrErrors(JSON.stringify({ version: 1, ...value })));
  });

  test.each([
    ['aliases that unfold to a billion', `version: 1\n${unfolding}`],
    ['aliases that unfold to a billion rules', `version: 1\n${unfolding}\nallow: [{ host: a.example, paths: *k }]\n`],
    ['an alias to itself', 'version: 1\nallow: &a [*a]\n'],
    ['lists ten thousand deep', `version: 1\nallow: ${'['.repeat(10_000)}`],
    ['maps ten thousand deep', `version: 1\nallow: ${'{a: '.repeat(10_000)}`],
    ['a key of a megabyte', `${'k'.repeat(1_000_000)}: 1\n`],
    ['two thousand rules', `version: 1\nallow:\n${'  - host: a.example\n'.repeat(2_000)}`],
    [
      'a pattern that would never end',
      `version: 1\nallow: [{ host: a.example }]\npolicy: { blocked_api_patterns: { GET: ["^(a+)+$"] } }\n`,
    ],
    ['merge keys', 'version: 1\nx: &x { host: a.example }\nallow: [{ <<: *x }]\n'],
    ['other tags', 'version: !!js/function "x"\nallow: !!python/object []\n'],
  ])('%s', { timeout: fuzzTimeoutMs }, (_, text) => isPolicyOrErrors(text));
});
