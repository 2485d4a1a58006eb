import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addAllowEntries } from '../../../../src/policy/edit/edit-policy.ts';
import { knownHosts } from '../../../../src/policy/explain/known-hosts.ts';
import type { ReadHost } from '../../../../src/policy/learn/observe.ts';
import { proposeEntries, type ReadingPreset } from '../../../../src/policy/learn/propose.ts';
import {
  isShared,
  ownersDomain,
  ownSharedDomains,
  publicSuffixes,
} from '../../../../src/policy/learn/public-suffixes.ts';
import { loadPolicyText } from '../../../../src/policy/load/load-policy.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const date = '2026-11-16';
const machine = { ...thisMachine(), run: async () => null };
const nothing = knownHosts(handMadePolicy({}));
const read = (...hosts: string[]): ReadHost[] => hosts.map((host) => ({ host, requests: 1, paths: ['/'] }));
const linesFor = (hosts: readonly ReadHost[], known = nothing, presets: readonly ReadingPreset[] = []) =>
  proposeEntries({ read: hosts, presets, known, date }).map(({ preset, host }) => preset ?? host);

const packages: ReadingPreset = {
  name: 'pypi',
  hosts: [
    { host: 'index.packages.example', covers: (path) => path.startsWith('/simple/') },
    { host: 'files.packages.example', covers: () => true },
  ],
};

describe('the smallest patch for what a session read', () => {
  test('hosts are listed one by one, to read, with how often they were seen', () => {
    const seen = [{ host: 'b.example', requests: 12, paths: ['/'] }, ...read('a.example')];
    expect(proposeEntries({ read: seen, presets: [], known: nothing, date })).toEqual([
      { host: 'a.example', methods: ['GET', 'HEAD'], comment: 'learned 2026-11-16: 1 request' },
      { host: 'b.example', methods: ['GET', 'HEAD'], comment: 'learned 2026-11-16: 12 requests' },
    ]);
  });

  test('three subdomains that are clearly one owner’s become a wildcard; the domain itself is not in it', () => {
    expect(linesFor(read('cdn.big.example', 'img2.big.example', 'docs.big.example', 'big.example'))).toEqual([
      '*.big.example',
      'big.example',
    ]);
    expect(linesFor(read('cdn.big.example', 'img.big.example'))).toEqual(['cdn.big.example', 'img.big.example']);
  });

  test('a comment names a few of many', () => {
    const hosts = Array.from({ length: 90 }, (_, i) => `cdn${i + 1}.big.example`);
    const [entry, ...more] = proposeEntries({ read: read(...hosts), presets: [], known: nothing, date });
    expect([entry?.host, more]).toEqual(['*.big.example', []]);
    expect(entry?.comment).toMatch(/^learned 2026-11-16: 90 requests to (?:cdn\d+\.big\.example,? ){5}and 85 more$/);
  });

  test('regions and numbers are parts of names of services', () => {
    const hosts = ['us-east-1.packages.big.example', 'eu-west-1.packages.big.example', 'files2.big.example'];
    expect(linesFor(read(...hosts))).toEqual(['*.big.example']);
  });

  test.each([
    ['a domain that strangers rent', ['a.github.io', 'b.github.io', 'c.github.io']],
    ['a domain above one that strangers rent', ['a.windows.net', 'b.windows.net', 'c.windows.net']],
    ['a part of one that strangers rent', ['a.x.herokuapp.com', 'b.x.herokuapp.com', 'c.x.herokuapp.com']],
    ['an ending that hosts are mostly rented under', ['a.some.dev', 'b.some.dev', 'c.some.dev']],
    ['a country’s own second level', ['a.co.uk', 'b.co.uk', 'c.co.uk']],
    ['a country’s own second level of another name', ['api.gouv.fr', 'data.gouv.fr', 'docs.gouv.fr']],
    ['a domain that is sold in parts, as a suffix of the list', ['api.br.com', 'cdn.br.com', 'docs.br.com']],
    ['a city', ['api.tokyo.jp', 'cdn.tokyo.jp', 'docs.tokyo.jp']],
    ['a domain above a suffix of the list', ['api.linode.com', 'cdn.linode.com', 'docs.linode.com']],
    ['a name below a suffix of the private part', ['api.x.dedyn.io', 'cdn.x.dedyn.io', 'docs.x.dedyn.io']],
    ['a suffix by a star', ['api.any.ck', 'cdn.any.ck', 'docs.any.ck']],
    ['a short name in a country’s zone', ['api.abc.de', 'cdn.abc.de', 'docs.abc.de']],
    ['one that the list lacks', ['api.wpengine.com', 'cdn.wpengine.com', 'docs.wpengine.com']],
    ['blogs under any ending', ['api.blogspot.de', 'cdn.blogspot.de', 'docs.blogspot.de']],
    ['names of people', ['alice.big.example', 'bob.big.example', 'cdn.big.example']],
    ['names of people below a service', ['alice.cdn.big.example', 'bob.cdn.big.example', 'carol.cdn.big.example']],
    ['names in other letters', ['xn--cdn-5na.big.example', 'cdn.big.example', 'docs.big.example']],
    ['names that look like numbers of tenants', ['d3f9a1.big.example', 'cdn.big.example', 'img.big.example']],
  ])('in doubt hosts are listed one by one: %s', (_name, hosts) => {
    expect(linesFor(read(...hosts))).toEqual([...hosts].sort());
  });

  test('no wildcard reaches a host that the policy has a word about', () => {
    const hosts = ['a.big.example', 'b.big.example', 'c.big.example'];
    for (const policy of [
      { allow: [{ host: 'api.big.example', methods: ['POST'] }] },
      { credentials: [{ name: 'key', hosts: ['deep.api.big.example'] }] },
      { credentials: [{ name: 'key', hosts: ['*.api.big.example'] }] },
      { gitHosts: ['git.big.example'] },
      { githubHosts: ['ghe.big.example'] },
    ]) {
      expect(linesFor(read(...hosts), knownHosts(handMadePolicy(policy)))).toEqual(hosts);
    }
  });

  test('a host that the policy names is never proposed', () => {
    const known = knownHosts(handMadePolicy({ allow: [{ host: '*.big.example' }] }));
    expect(linesFor(read('a.big.example', 'api.github.com', 'x.githubusercontent.com'), known)).toEqual([]);
  });

  test('a preset takes the place of its hosts when it covers what was read there', () => {
    const simple = { host: 'index.packages.example', requests: 3, paths: ['/simple/x/'] };
    expect(linesFor([simple, ...read('files.packages.example')], nothing, [packages])).toEqual(['pypi']);
    const more = { ...simple, paths: ['/simple/x/', '/admin'] };
    expect(linesFor([more], nothing, [packages])).toEqual(['index.packages.example']);
    expect(linesFor(read('other.example'), nothing, [packages])).toEqual(['other.example']);
  });

  test('a preset that allows more than reading says so beside its line', () => {
    const also = 'audit may post its list there';
    const [entry] = proposeEntries({
      read: read('files.packages.example'),
      presets: [{ ...packages, also }],
      known: nothing,
      date,
    });
    expect(entry?.comment).toBe(
      'learned 2026-11-16: 1 request to files.packages.example; audit may post its list there',
    );
  });

  test('a preset is not proposed when it would open a host that the policy has a word about', () => {
    const known = knownHosts(handMadePolicy({ credentials: [{ name: 'key', hosts: ['files.packages.example'] }] }));
    const simple = { host: 'index.packages.example', requests: 3, paths: ['/simple/x/'] };
    expect(linesFor([simple], known, [packages])).toEqual(['index.packages.example']);
  });

  test('what is proposed compiles, covers all that was read, and nothing unseen under a domain that strangers rent', async () => {
    const label = fc.constantFrom('cdn', 'img', 'docs', 'api2', 'files', 'd3f9a1c7', 'x-1');
    const shared = [...ownSharedDomains(), ...publicSuffixes().rules.keys()]
      .filter((name) => /^[\w.*-]+$/.test(name))
      .map((name) => name.replaceAll('*', 'any'));
    const plain = ['big.example', 'small.com', 'deep.big.example', 'windows.net', 'amazonaws.com', 'my.org', 'x.co.uk'];
    const domain = fc.oneof(fc.constantFrom(...plain), fc.constantFrom(...shared));
    const host = fc.oneof(
      fc.tuple(label, domain).map((parts) => parts.join('.')),
      domain,
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(host, { minLength: 1, maxLength: 12 }), async (hosts) => {
        const entries = proposeEntries({ read: read(...hosts), presets: [packages], known: nothing, date });
        const { text } = addAllowEntries('version: 1\n', entries);
        const loaded = await loadPolicyText(text, '/x/sallyport.yaml', '/x', machine);
        if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
        for (const { methods, ask, tunnel } of loaded.policy.allow) {
          expect([[...(methods ?? [])], ask, tunnel]).toEqual([['GET', 'HEAD'], false, false]);
        }
        const count = (one: string): number => loaded.policy.rulesFor(one).length;
        // GitHub's own are known to every policy, and never proposed.
        expect(hosts.filter((one) => count(one) !== (nothing.names(one) ? 0 : 1))).toEqual([]);
        // Every suffix there is: whoever registers the next name below one is not reached.
        expect(shared.filter((suffix) => count(`unseen.${suffix}`) !== 0)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});

describe('whose a domain is', () => {
  test('the part of a host that one owner has registered', () => {
    expect(ownersDomain('a.b.example.com')).toBe('example.com');
    expect(ownersDomain('a.shop.co.uk')).toBe('shop.co.uk');
    expect(ownersDomain('a.shop.br.com')).toBe('shop.br.com');
    for (const host of ['shop.co.uk', 'example.com', 'co.uk', 'com', 'br.com']) expect(ownersDomain(host)).toBeNull();
  });

  test('names below and above what strangers rent are shared, look-alikes are not', () => {
    const rented = 'br.com co.com us.org tokyo.jp wroclaw.pl dedyn.io myfritz.net wpengine.com github.io co.uk'.split(
      ' ',
    );
    const near = 'me.github.io core.windows.net windows.net amazonaws.com linode.com azure.com googleapis.com'.split(
      ' ',
    );
    for (const name of [...rented, ...near]) expect([name, isShared(name)]).toEqual([name, true]);
    for (const name of ['notgithub.io', 'example.com', 'github.io.example.com', 'shop.co.uk', 'city.kawasaki.jp'])
      expect([name, isShared(name)]).toEqual([name, false]);
  });

  test('every suffix of the list is shared, and what is kept beside it says something that the list does not', () => {
    const { rules } = publicSuffixes();
    const names = [...rules.keys()].map((name) => name.replaceAll('*', 'any'));
    expect(names.filter((name) => !isShared(name))).toEqual([]);
    expect(ownSharedDomains().filter((name) => rules.has(name))).toEqual([]);
  });
});
