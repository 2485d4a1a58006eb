// Ours reads the list that ships with us; the package, which has its own, answers questions about hosts. Both must come to the same.
import fc from 'fast-check';
import { getDomain, getPublicSuffix } from 'tldts';
import { expect, test } from 'vitest';
import { publicSuffixes, readList, registrableDomain, suffixOf } from '../../src/policy/learn/public-suffixes.ts';

const options = { allowPrivateDomains: true, validateHostname: false, extractHostname: false } as const;
const { rules, exceptions, above } = publicSuffixes();
const names = [...rules.keys()].map((name) => name.replaceAll('*', 'any'));

test('the list is all there, with its private part', () => {
  expect(rules.size).toBeGreaterThan(9_000);
  expect([...rules.values()].filter(Boolean).length).toBeGreaterThan(2_500);
  expect([...exceptions]).toContain('www.ck');
  expect([rules.get('co.uk'), rules.get('github.io'), rules.get('*.ck')]).toEqual([false, true, false]);
  expect([above.has('windows.net'), above.has('example.com')]).toEqual([true, false]);
});

test('the file of publicsuffix.org is read as it is', () => {
  const read = readList(
    '// ===BEGIN ICANN DOMAINS===\n\nck\n*.ck\n!www.ck\n公司.cn what follows a space is no rule\n' +
      '// ===END ICANN DOMAINS===\n// ===BEGIN PRIVATE DOMAINS===\n// Somebody : https://example.com\n*.core.example\n',
  );
  expect([...read.rules]).toEqual([
    ['ck', false],
    ['*.ck', false],
    ['xn--55qx5d.cn', false],
    ['*.core.example', true],
  ]);
  expect([...read.exceptions]).toEqual(['www.ck']);
  expect([...read.above]).toEqual(['ck', 'cn', 'core.example', 'example']);
  expect(() => readList('')).toThrow('not complete');
});

test('every name of the list is read alike', () => {
  const differs = [...names, ...exceptions]
    .flatMap((name) => [name, `a.${name}`, `b.a.${name}`])
    .filter((name) => suffixOf(name).suffix !== getPublicSuffix(name, options));
  expect(differs).toEqual([]);
});

test('so is any other', () => {
  const label = fc.oneof(
    fc.constantFrom('a', 'www', 'city', 'com', 'co', 's3', 'any'),
    fc.stringMatching(/^[a-z0-9]{1,8}$/),
  );
  const tail = fc.oneof(fc.constantFrom(...names, ...exceptions, ...above), label);
  fc.assert(
    fc.property(fc.array(label, { maxLength: 3 }), tail, (labels, end) => {
      const name = [...labels, end].join('.');
      expect(suffixOf(name).suffix).toBe(getPublicSuffix(name, options));
      expect(registrableDomain(name)).toBe(getDomain(name, options));
    }),
    { numRuns: 2_000 },
  );
});
