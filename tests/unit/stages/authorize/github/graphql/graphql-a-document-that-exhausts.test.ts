// A document must not cost more to judge than to send: size, depth, words and fragments are bounded, and the time is too.
import { expect, test } from 'vitest';
import { cpuMsOf } from '../../../../../support/cpu-time.ts';
import { ask } from './graphql-ask.ts';

const chain = (levels: number) =>
  Array.from({ length: levels }, (_, n) => `fragment F${n} on User { ...F${n + 1} ...F${n + 1} }`).join(' ');
const rootChain = Array.from({ length: 25 }, (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`).join(
  ' ',
);

test.each([
  ['deep', '{ a '.repeat(200_000)],
  ['deep and closed', `${'{ a '.repeat(4000)}${'}'.repeat(4000)}`],
  ['deep lists', `{ viewer(a: ${'['.repeat(100_000)}`],
  ['many words', `{ ${'__typename '.repeat(100_000)} }`],
  ['a long string that does not end', `{ a(b: "${'x'.repeat(900_000)}`],
  ['a body over the limit', `{ viewer { login } } #${'x'.repeat(1024 * 1024)}`],
  ['a fragment in itself', '{ viewer { ...F } } fragment F on User { login ...F }'],
  ['fragments in each other', '{ viewer { ...F } } fragment F on User { ...G } fragment G on User { ...F }'],
  ['a chain of fragments', `{ viewer { ...F0 } } ${chain(500)} fragment F500 on User { login }`],
  [
    'deep variables',
    Buffer.from(`{"query":"{ viewer { login } }","variables":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`),
  ],
  ['many operations', Array.from({ length: 50 }, (_, n) => `query Q${n} { viewer { login } }`).join(' ')],
])('%s: refused at once', async (_what, request) => {
  const body = typeof request === 'string' ? { query: request } : request;
  const spentMs = await cpuMsOf(async () => {
    expect((await ask(body)).said).toMatch(/^github\.graphql: /);
  });
  expect(spentMs).toBeLessThan(1000);
});

test.each([
  ['below a field', `{ viewer { ...F0 } } ${chain(25)} fragment F25 on User { login }`],
  ['at the root', `{ ...F0 } ${rootChain} fragment F25 on Query { viewer { login } }`],
])('fragments that double %s are judged once', async (_where, query) => {
  const spentMs = await cpuMsOf(async () => {
    expect((await ask(query)).said).toBe('allowed');
  });
  expect(spentMs).toBeLessThan(1000);
});

test('nesting is bounded also where everything in it may be selected', async () => {
  const nested = (levels: number) => `{ viewer { ${'... { '.repeat(levels)} login ${'}'.repeat(levels)} } }`;
  expect((await ask(nested(30))).said).toBe('allowed');
  expect((await ask(nested(50))).said).toMatch(/nested deeper than 40 levels/);
});
