import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalHost, parseAuthority } from '../../../../src/stages/accept/canonical-host.ts';
import { refusalOf } from '../../../support/hand-made-flow.ts';

/** Header bytes reach us as Latin-1. */
const asRead = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('a host has one spelling', () => {
  test.each([
    ['api.example', 'api.example'],
    ['API.Example', 'api.example'],
    ['under_score.example', 'under_score.example'],
    ['a-b.example', 'a-b.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['straße.example', 'xn--strae-oqa.example'],
    ['ａｐｉ.example', 'api.example'],
    ['api。example', 'api.example'],
    ['1password.example', '1password.example'],
    ['example.c0m', 'example.c0m'],
  ])('%s is %s', (text, host) => {
    expect(canonicalHost(asRead(text))).toBe(host);
  });

  test.each([
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '1.2.3.4',
    'a.example.1',
    'a.0x',
    '[::1]',
    'fe80::1',
    '１２７.０.０.１',
    '127。1',
  ])('%s is an address', (text) => {
    expect(refusalOf(() => canonicalHost(asRead(text))).code).toBe('target.literal-address');
  });

  test.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    '-a.example',
    'a-.example',
    'a b',
    'a\tb',
    'a/b',
    'a\\b',
    'a@b',
    'a?b',
    'a#b',
    'a%2eb',
    'a*b',
    '*.example',
    'a,b',
    'a\0b',
    'xn--.example',
    'xn--a.example',
    'xn--bcher-kva.example/evil',
    'xn--bcher-kva.exam\tple',
    'xn--bcher-kva.exampl%65',
    'bücher.example/evil',
    'bücher.exampl%65',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(126)}aa`,
  ])('%j is no host', (text) => {
    expect(refusalOf(() => canonicalHost(asRead(text))).code).toBe('malformed.host');
  });

  test('the spelling of a spelling is itself, and it holds nothing but letters of a name', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string({ unit: 'binary' }), fc.webAuthority()), (text) => {
        let host: string;
        try {
          host = canonicalHost(text);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(malformed\.host|target\.literal-address)$/) });
          return;
        }
        expect(host).toMatch(/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/);
        expect(host).not.toMatch(/\.\.|(^|\.)(\d+|0x[0-9a-f]*)$/);
        expect(canonicalHost(host)).toBe(host);
        expect(canonicalHost(host.toUpperCase())).toBe(host);
      }),
      { numRuns: 1500 },
    );
  });

  test('an IPv4 address is found in every notation inet_aton takes', () => {
    const part = (value: number): fc.Arbitrary<string> =>
      fc.constantFrom(String(value), `0${value.toString(8)}`, `0x${value.toString(16)}`, `0X${value.toString(16)}`);
    const anyNotation = fc.tuple(fc.nat(0xffffffff), fc.integer({ min: 1, max: 4 })).chain(([address, parts]) => {
      const leading = Array.from({ length: parts - 1 }, (_, i) => (address >>> (24 - 8 * i)) & 0xff);
      const rest = address % 2 ** (8 * (5 - parts));
      return fc.tuple(...[...leading, rest].map(part)).map((spelled) => spelled.join('.'));
    });
    fc.assert(
      fc.property(anyNotation, (text) => {
        expect(refusalOf(() => canonicalHost(text)).code).toBe('target.literal-address');
      }),
      { numRuns: 500 },
    );
  });
});

describe('an authority is a host and perhaps a port', () => {
  test('with and without one', () => {
    expect(parseAuthority('Api.Example')).toEqual({ host: 'api.example', port: null });
    expect(parseAuthority('api.example:8443')).toEqual({ host: 'api.example', port: 8443 });
    expect(parseAuthority('api.example:65535')).toEqual({ host: 'api.example', port: 65535 });
  });

  test.each([
    'a.example:',
    'a.example:0',
    'a.example:080',
    'a.example:65536',
    'a.example:+1',
    'a.example:1 ',
    'a.example:x',
    ':443',
    '@a.example:1',
  ])('%j is refused', (text) => {
    expect(refusalOf(() => parseAuthority(text)).code).toBe('malformed.host');
  });

  test.each(['[::1]:443', '::1', 'a:b:443', '[::ffff:1.2.3.4]', '1.1.1.1:443'])('%s is an address', (text) => {
    expect(refusalOf(() => parseAuthority(text)).code).toBe('target.literal-address');
  });
});
