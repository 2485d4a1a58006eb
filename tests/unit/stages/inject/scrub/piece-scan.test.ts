// The loop in WebAssembly against the one in JavaScript, which is its oracle, and the code that is kept assembled against its source.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import openAssembler from 'wabt';
import { assembled, blockBytes, sharedPieceScan } from '../../../../../src/stages/inject/scrub/piece-scan.ts';
import { SecretSearch } from '../../../../../src/stages/inject/scrub/secret-search.ts';

const source = join(import.meta.dirname, '../../../../../src/stages/inject/scrub/piece-scan.wat');

function searchFor(values: readonly string[], leastScanned: number): SecretSearch<string> {
  return new SecretSearch(
    values.map((value) => ({ bytes: Buffer.from(value), label: value })),
    leastScanned,
  );
}

function allIn(search: SecretSearch<string>, bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; search.find(bytes, at); at = search.start + 1) {
    found.push(`${search.start}-${search.end} ${search.open} ${search.label}`);
  }
  return found;
}

const key = `sk-ant-api03-${'Ab1-'.repeat(24)}`.slice(0, 108);
const placeholder = 'sallyport-placeholder-for-anthropic-the';
const letters = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_');

test('what is kept assembled is what its source says', async () => {
  const module = (await openAssembler()).parseWat('piece-scan.wat', readFileSync(source, 'utf8'), { simd: true });
  module.validate();
  expect(Buffer.from(module.toBinary({}).buffer).toString('base64')).toBe(assembled);
});

describe('the loop in WebAssembly', () => {
  test('is there on every processor that runs these tests', () => {
    expect(sharedPieceScan()).not.toBeNull();
  });

  test('finds what the one in JavaScript finds, wherever it stands in content of any kind', () => {
    const secrets = fc.array(fc.string({ unit: letters, minLength: 8, maxLength: 130 }), {
      minLength: 1,
      maxLength: 6,
    });
    const spell = fc.constantFrom(
      (char: string) => char,
      (char: string) => `%${char.charCodeAt(0).toString(16)}`,
      (char: string) => `\\u00${char.charCodeAt(0).toString(16)}`,
      (char: string) => `&#x00${char.charCodeAt(0).toString(16)};`,
    );
    const filler = fc.constantFrom('x', 'random', '%41', '\\n', '\r\n', '&amp;', "it's 50 % of $ & \\ all\n");
    const pieces = fc.array(fc.tuple(filler, fc.nat({ max: 400 }), fc.nat(), spell, fc.nat({ max: 5 })), {
      minLength: 1,
      maxLength: 5,
    });
    let found = 0;
    fc.assert(
      fc.property(secrets, pieces, (values, parts) => {
        const bytes = Buffer.concat(
          parts.flatMap(([fill, times, which, spelled, every]) => {
            const value = values[which % values.length]!;
            const written = [...value].map((char, i) => (i % (every + 1) === 0 ? spelled(char) : char)).join('');
            const wrapped = Buffer.from(value)
              .toString('base64')
              .replace(/(.{20})/g, '$1\n');
            return [noise(fill, times), Buffer.from(which % 3 === 0 ? wrapped : written), noise(fill, times)];
          }),
        );
        const expected = allIn(searchFor(values, Number.POSITIVE_INFINITY), bytes);
        found += expected.length;
        expect(allIn(searchFor(values, 0), bytes)).toEqual(expected);
      }),
      { numRuns: 400 },
    );
    expect(found).toBeGreaterThan(400);
  });

  test('loses none that lies across two of its blocks, at either end of one, or at the end of all', () => {
    const search = searchFor([key, placeholder], 0);
    for (const value of [key, placeholder]) {
      for (let before = blockBytes - 200; before < blockBytes + 20; before++) {
        const bytes = Buffer.alloc(blockBytes + 4096, 'x');
        bytes.write(value, before);
        expect(allIn(search, bytes)).toEqual([`${before}-${before + value.length} false ${value}`]);
        expect(search.find(bytes.subarray(0, before + 30), 0)).toBe(true);
        expect([search.start, search.open]).toEqual([before, true]);
      }
    }
  });

  test('several searches take turns in its one memory, more than it has places for', () => {
    const values = Array.from({ length: 9 }, (_, i) => `${i}-${key.slice(2)}`);
    const searches = values.map((value) => searchFor([value], 0));
    for (let turn = 0; turn < 3; turn++) {
      for (const [i, search] of searches.entries()) {
        const bytes = Buffer.from(`${'x'.repeat(500)}${values[i]}${'x'.repeat(500)}${values[(i + 1) % 9]}.`);
        expect(allIn(search, bytes)).toEqual([`500-608 false ${values[i]}`]);
      }
    }
  });

  test('what is added after it was used is found, and where its table becomes too large too', () => {
    const search = searchFor([placeholder], 0);
    const bytes = Buffer.from(`${'x'.repeat(3000)}${key}${'x'.repeat(3000)}`);
    expect(allIn(search, bytes)).toEqual([]);
    search.add(Buffer.from(key), 'late');
    expect(allIn(search, bytes)).toEqual(['3000-3108 false late']);
    for (let i = 0; i < 1500; i++) search.add(Buffer.from(`ghs_${String(i * 7919).repeat(9)}`), 'other');
    expect(allIn(search, bytes)).toEqual(['3000-3108 false late']);
  });
});

describe('where there is no WebAssembly', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  test('the search finds the same without it', async () => {
    vi.stubGlobal('WebAssembly', undefined);
    vi.resetModules();
    const alone = await import('../../../../../src/stages/inject/scrub/piece-scan.ts');
    const { SecretSearch: Search } = await import('../../../../../src/stages/inject/scrub/secret-search.ts');
    expect(alone.sharedPieceScan()).toBeNull();
    const search = new Search([{ bytes: Buffer.from(key), label: 'key' }], 0);
    expect(search.find(Buffer.from(`${'x'.repeat(9000)}${key}`), 0)).toBe(true);
    expect(search.start).toBe(9000);
  });
});

function noise(fill: string, times: number): Buffer {
  if (fill !== 'random') return Buffer.from(fill.repeat(times));
  let state = times + 1;
  return Buffer.from(
    Array.from({ length: 4 * times }, () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return state >>> 24;
    }),
  );
}
