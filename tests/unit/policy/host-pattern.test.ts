import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HostIndex } from '../../../src/policy/host-index.ts';
import { parseHostPattern } from '../../../src/policy/host-pattern.ts';

function pattern(text: string) {
  const parsed = parseHostPattern(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}

const problem = (text: string): string => {
  const parsed = parseHostPattern(text);
  return 'problem' in parsed ? parsed.problem : '';
};

describe('a host pattern covers what it names and nothing else', () => {
  test('a wildcard covers subdomains at any depth, never its apex nor a look-alike', () => {
    const wild = pattern('*.example.com');
    for (const host of ['a.example.com', 'a.b.example.com', 'xn--bcher-kva.example.com']) {
      expect(wild.covers(host), host).toBe(true);
    }
    for (const host of [
      'example.com',
      '.example.com',
      'evilexample.com',
      'evil-example.com',
      'example.com.evil.test',
      'a.example.com.evil.test',
      'a.example.co',
      'aexample.com',
    ]) {
      expect(wild.covers(host), host).toBe(false);
    }
  });

  test('an exact name covers itself alone', () => {
    expect(pattern('Api.Example.COM').covers('api.example.com')).toBe(true);
    expect(pattern('api.example.com').covers('x.api.example.com')).toBe(false);
    expect(pattern('api.example.com').covers('api.example.comx')).toBe(false);
  });

  test('names are lower-cased and IDNA-encoded as requests are', () => {
    expect(pattern('BÜCHER.example').text).toBe('xn--bcher-kva.example');
    expect(pattern('*.Bücher.example').text).toBe('*.xn--bcher-kva.example');
  });
});

describe('what is not a name is refused with what to write instead', () => {
  test('addresses in every spelling', () => {
    for (const text of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '017700000001',
      '[::1]',
      '::1',
      '::ffff:127.0.0.1',
      '１２７.０.０.１',
      '127。0。0。1',
      '*.0.0.1',
    ]) {
      expect(problem(text), text).toContain('addresses are never allowed');
    }
  });

  test('wildcards anywhere but at the front, alone, doubled or over a top-level domain', () => {
    expect(problem('*')).toContain('whole internet');
    expect(problem('*.com')).toContain("everyone's names");
    for (const text of [
      'a.*.example.com',
      '*a.example.com',
      'a*.example.com',
      '*.*.example.com',
      'example.*',
      '**.example.com',
    ]) {
      expect(problem(text), text).not.toBe('');
    }
  });

  test('schemes, ports, paths, dots, spaces and broken labels', () => {
    expect(problem('https://api.example.com')).toContain('without scheme');
    expect(problem('api.example.com/v1')).toContain('without scheme and path');
    expect(problem('api.example.com:443')).toContain('without a port');
    expect(problem('api.example.com.')).toContain('trailing dot');
    for (const text of [
      '',
      ' a.example',
      'a b.example',
      '-a.example',
      'a-.example',
      'a..example',
      'a%2eexample',
      `${'a'.repeat(64)}.example`,
    ]) {
      expect(problem(text), text).not.toBe('');
    }
  });
});

describe('the index answers what walking every pattern would', () => {
  const label = fc.constantFrom('a', 'b', 'c', 'ab');
  const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
  const patternText = fc.tuple(fc.boolean(), name).map(([wild, text]) => (wild ? `*.${text}` : text));

  test('for any patterns and hosts, exact ones first, in order', () => {
    fc.assert(
      fc.property(fc.array(patternText, { maxLength: 12 }), fc.array(name, { maxLength: 20 }), (texts, hosts) => {
        const patterns = texts.map(pattern);
        const index = new HostIndex<number>();
        for (const [i, item] of patterns.entries()) index.add(item, i);
        for (const host of hosts) {
          const covering = [...patterns.keys()].filter((i) => patterns[i]!.covers(host));
          const exact = covering.filter((i) => !texts[i]!.startsWith('*'));
          const wild = covering.filter((i) => texts[i]!.startsWith('*'));
          expect(index.find(host)).toEqual([...exact, ...wild]);
          expect(index.find(host)).toBe(index.find(host));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('an empty label before a wildcard is no subdomain', () => {
    const index = new HostIndex<number>();
    index.add(pattern('*.example.com'), 1);
    expect(index.find('.example.com')).toEqual([]);
    expect(index.find('example.com')).toEqual([]);
  });

  test('a flood of made-up names does not make it grow without bound', () => {
    const index = new HostIndex<number>();
    index.add(pattern('*.example.com'), 1);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 200_000; i++) index.find(`n${i}.other.test`);
    expect(index.find('x.example.com')).toEqual([1]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
  });
});
