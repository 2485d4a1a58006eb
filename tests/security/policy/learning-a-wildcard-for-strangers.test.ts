// A session may read three hosts under a name that anybody can register the next one below. A wildcard there, once applied, would
// let in whoever does: none is proposed at, above or right below any suffix of the Public Suffix List, nor where names are rented.
import { getDomain, getPublicSuffix } from 'tldts';
import { expect, test } from 'vitest';
import { knownHosts } from '../../../src/policy/explain/known-hosts.ts';
import { proposeEntries } from '../../../src/policy/learn/propose.ts';
import { publicSuffixes } from '../../../src/policy/learn/public-suffixes.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

const known = knownHosts(handMadePolicy({}));
const wildcardsFor = (domain: string): string[] =>
  proposeEntries({
    read: ['api', 'cdn', 'docs', 'files'].map((name) => ({ host: `${name}.${domain}`, requests: 1, paths: ['/'] })),
    presets: [],
    known,
    date: '2026-11-16',
  })
    .map(({ host }) => host ?? '')
    .filter((host) => host.startsWith('*'));

test('a wildcard is proposed where one owner has the domain', () => {
  for (const domain of ['big.example', 'pytorch.org', 'bigshop.co.uk'])
    expect(wildcardsFor(domain)).toEqual([`*.${domain}`]);
});

test.each(['br.com', 'co.com', 'us.org', 'tokyo.jp', 'wroclaw.pl', 'dedyn.io', 'myfritz.net', 'wpengine.com'])(
  'none is proposed for %s, where anybody gets a name',
  (domain) => expect(wildcardsFor(domain)).toEqual([]),
);

test('none is proposed for a name that is rented: another may have it tomorrow', () => {
  for (const domain of ['shop.br.com', 'home.dedyn.io', 'someone.github.io', 'shop.wpengine.com'])
    expect(wildcardsFor(domain)).toEqual([]);
});

test('none is proposed for any suffix of the list, nor for any name above one', () => {
  const { rules, above } = publicSuffixes();
  const names = [...rules.keys()].map((name) => name.replaceAll('*', 'any'));
  expect([...names, ...above].flatMap(wildcardsFor)).toEqual([]);
});

test('whatever is proposed stands for a domain that somebody has registered, by the package’s own word', () => {
  const options = { allowPrivateDomains: true };
  const { rules } = publicSuffixes();
  const proposed = [...rules.keys()]
    .map((name) => `bigshop.${name.replaceAll('*', 'any')}`)
    .flatMap(wildcardsFor)
    .map((host) => host.slice(2));
  expect(proposed.length).toBeGreaterThan(1_000);
  expect(proposed.filter((domain) => getDomain(domain, options) !== domain)).toEqual([]);
  expect(proposed.filter((domain) => getPublicSuffix(`next.${domain}`, options) === domain)).toEqual([]);
});
