import { beforeAll, describe, expect, test } from 'vitest';
import { unfinished } from '../../../../../src/stages/inject/scrub/match-form.ts';
import { SecretSearch } from '../../../../../src/stages/inject/scrub/secret-search.ts';

type Found = [start: number, end: number, label: string];

/** Both loops must find the same: that in WebAssembly, which is for much, and that in JavaScript. */
const loops = [
  { loop: 'WebAssembly', leastScanned: 0 },
  { loop: 'JavaScript', leastScanned: Number.POSITIVE_INFINITY },
];
let leastScanned: number;

function searchFor(...values: string[]): SecretSearch<string> {
  return new SecretSearch(
    values.map((value) => ({ bytes: Buffer.from(value), label: value })),
    leastScanned,
  );
}

function allIn(search: SecretSearch<string>, text: string | Buffer): Found[] {
  const bytes = Buffer.from(text);
  const found: Found[] = [];
  for (let at = 0; search.find(bytes, at); at = search.start + 1) found.push([search.start, search.end, search.label]);
  return found;
}

const long = 'x'.repeat(300);

describe.each(loops)('with the loop in $loop', (use) => {
  beforeAll(() => {
    leastScanned = use.leastScanned;
  });

  describe('several patterns at once', () => {
    test('each is found where it stands, with its label, in order', () => {
      const search = searchFor('first-key-0001', 'second-key-22222222222222222222', 'third!');
      const text = `${long}third! first-key-0001${long}second-key-22222222222222222222`;
      expect(allIn(search, text)).toEqual([
        [300, 306, 'third!'],
        [307, 321, 'first-key-0001'],
        [621, 652, 'second-key-22222222222222222222'],
      ]);
    });

    test('of those that begin at one place the longest is told, and those inside it when asked further on', () => {
      const search = searchFor('abcdef', 'abcdefghij', 'cdefgh');
      expect(allIn(search, `--abcdefghij--`)).toEqual([
        [2, 12, 'abcdefghij'],
        [4, 10, 'cdefgh'],
      ]);
    });

    test('one may be added at any time, a shorter one too', () => {
      const search = searchFor('a-long-pattern-of-very-many-letters-in-a-row-and-some-more-of-them');
      expect(allIn(search, `${long}secret${long}`)).toEqual([]);
      search.add(Buffer.from('secret'), 'short');
      expect(allIn(search, `${long}secret${long}`)).toEqual([[300, 306, 'short']]);
      expect(search.size).toBe(2);
      expect(search.minBytes).toBe(6);
    });

    test('what is too short to be a secret is not taken', () => {
      const search = searchFor('short');
      expect(search.size).toBe(0);
      expect(allIn(search, 'short')).toEqual([]);
    });

    test('thousands that begin alike are told apart', () => {
      const values = Array.from({ length: 1500 }, (_, i) => `ghs_${String(i).padStart(36, '0')}`);
      const search = searchFor(...values);
      expect(allIn(search, `${long}${values[1234]}${long}`)).toEqual([[300, 340, values[1234]]]);
      expect(allIn(search, `${long}ghs_${'9'.repeat(36)}${long}`)).toEqual([]);
    });

    test('none is lost when many more come', () => {
      const first = 'the-first-one-of-them-all-0123456789';
      const search = searchFor(first);
      for (let i = 0; i < 300; i++) {
        search.add(
          Buffer.from(`${(i * 7919).toString(36)}-another-${(i * 104729).toString(36)}-of-very-many`),
          'other',
        );
        if (i % 20 === 0) expect(allIn(search, `${long}${first}${long}!`)).toEqual([[300, 336, first]]);
      }
    });
  });

  describe('a beginning at the end of the bytes', () => {
    test('is told as unfinished, with where it begins', () => {
      const search = searchFor('first-key-0001');
      expect(allIn(search, `${long}first-k`)).toEqual([[300, unfinished, 'first-key-0001']]);
      expect(allIn(search, `${long}first-k!`)).toEqual([]);
    });

    test('is open also when a shorter one is whole already', () => {
      const search = searchFor('abcdef', 'abcdefghij');
      expect(search.find(Buffer.from('abcdefgh'), 0)).toBe(true);
      expect([search.end, search.label, search.open]).toEqual([6, 'abcdef', true]);
      expect(search.find(Buffer.from('abcdefg!'), 0)).toBe(true);
      expect(search.open).toBe(false);
    });

    test('one that is cut inside an escape waits only for what it can become', () => {
      const search = searchFor('abc/def');
      const waits = (text: string) => search.find(Buffer.from(text), 0) && search.start === 0;
      expect(waits('abc%')).toBe(true);
      expect(waits('abc%2')).toBe(true);
      expect(waits('abc%3')).toBe(false);
      expect(waits('abc\\')).toBe(true);
      expect(waits('abc\\u00')).toBe(true);
      expect(waits('abc\\u01')).toBe(false);
      expect(waits('abc&#0')).toBe(true);
      expect(waits('abc&#x2')).toBe(true);
      expect(waits('abc&q')).toBe(false);
    });
  });

  describe('the forms', () => {
    const value = 'p<a>s&"s\'/w\\ord';
    let search: SecretSearch<string>;
    beforeAll(() => {
      search = searchFor(value);
    });
    const isWhole = (text: string | Buffer): boolean => {
      const bytes = Buffer.from(text);
      const all = allIn(search, Buffer.concat([Buffer.from(`${long}(`), bytes, Buffer.from(`)${long}`)]));
      return all.some(([start, end]) => start === 301 && end === 301 + bytes.length);
    };

    test('as HTML writes it', () => {
      expect(isWhole('p&lt;a&gt;s&amp;&quot;s&apos;/w\\ord')).toBe(true);
      expect(isWhole('p&#60;a&#x3e;s&#38;&#x22;s&#039;&#X002F;w&#92;ord')).toBe(true);
    });

    test('as JSON and URLs write it', () => {
      expect(isWhole(JSON.stringify(value).slice(1, -1))).toBe(true);
      expect(isWhole(encodeURIComponent(value))).toBe(true);
      expect(isWhole([...Buffer.from(value)].map((byte) => `%${byte.toString(16)}`).join(''))).toBe(true);
      expect(isWhole([...Buffer.from(value)].map((byte) => `\\u00${byte.toString(16)}`).join(''))).toBe(true);
    });

    test('in UTF-16, in either order of bytes', () => {
      const little = Buffer.from(value, 'utf16le');
      expect(isWhole(little.subarray(0, -1))).toBe(true);
      expect(isWhole(Buffer.from(little).swap16().subarray(1))).toBe(true);
    });

    test('in base64 and hexadecimal, broken into lines as well', () => {
      const text = Buffer.from(value.repeat(1)).toString('base64').replace(/=+$/, '');
      const hex = Buffer.from(value).toString('hex');
      for (const end of ['\n', '\r\n', '\\n', '\\r\\n']) {
        expect(isWhole(`${text.slice(0, 9)}${end}${text.slice(9)}`)).toBe(true);
        expect(isWhole(`${hex.slice(0, 2)}${end}${hex.slice(2).toUpperCase()}`)).toBe(true);
        expect(isWhole(`${value.slice(0, 5)}${end}${value.slice(5)}`)).toBe(false);
      }
      expect(isWhole(`${text.slice(0, 9)}\n\n${text.slice(9)}`)).toBe(false);
    });

    test('wherever it lies between the places that are looked at', () => {
      const secret = 'sk-ant-Abc0123456789/Defghijklmnop+Qrstuvw\\xyz';
      const plain = 'ghp_Abc0123456789Defghijklmnop';
      const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(2, '0');
      const ways: ((char: string, i: number) => string)[] = [
        (char) => char,
        (char) => `%${hex(char)}`,
        (char) => `\\u00${hex(char)}`,
        (char) => `&#x00${hex(char)};`,
        (char, i) => (i % 5 === 0 ? `&#${char.charCodeAt(0)};` : char),
        (char, i) => (i % 9 === 4 ? `%${hex(char)}` : char),
        (char) => ('/\\'.includes(char) ? `\\${char}` : char),
      ];
      for (const value of [secret, plain]) {
        for (const noise of ['x', '%41', '\\u0041', '&amp;', '\\\\', '%', '\n']) {
          const search = searchFor(value);
          for (const way of ways) {
            const text = [...value].map(way).join('');
            for (let before = 60; before < 130; before++) {
              const start = noise.length * before + (before % 3);
              const all = allIn(search, `${'-'.repeat(before % 3)}${noise.repeat(before)}${text}-${noise.repeat(60)}`);
              expect(all, `${noise} ${text}`).toContainEqual([start, start + text.length, value]);
            }
          }
        }
      }
    });

    test('a secret of nothing but signs takes no longer than any other', () => {
      // Some 10^12 ways to read the text: looked at one by one, this would never end.
      const slashes = searchFor('\\'.repeat(40));
      expect(slashes.find(Buffer.from('\\'.repeat(80)), 0)).toBe(true);
      expect([slashes.start, slashes.end]).toEqual([0, 80]);
    });
  });
});
