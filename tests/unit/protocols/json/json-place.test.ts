import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findJsonPlace, UnreadableJson } from '../../../../src/protocols/json/json-place.ts';

function exchanged(text: string, pointer: readonly string[], value: unknown): unknown {
  const place = findJsonPlace(text, pointer)!;
  const written = JSON.stringify(value);
  const filled =
    place.found === null ? `${JSON.stringify(pointer.at(-1))}:${written}${place.hasOthers ? ',' : ''}` : written;
  return JSON.parse(text.slice(0, place.start) + filled + text.slice(place.end));
}

describe('the place that a pointer names in a JSON text', () => {
  test.each([
    ['{"token":"x"}', ['token'], { token: 'new' }],
    [' { "a" : { "token" : null , "b" : [1] } } ', ['a', 'token'], { a: { token: 'new', b: [1] } }],
    ['{}', ['token'], { token: 'new' }],
    ['{"a":1}', ['token'], { a: 1, token: 'new' }],
    ['[{"t":"x"},{"t":"y"}]', ['1', 't'], [{ t: 'x' }, { t: 'new' }]],
    [String.raw`{"to\u006ben":"\"}{\\"}`, ['token'], { token: 'new' }],
    ['{"a/b":{"":"x"}}', ['a/b', ''], { 'a/b': { '': 'new' } }],
  ])('%s %j', (text, pointer, after) => {
    expect(exchanged(text, pointer, 'new')).toEqual(after);
  });

  test.each([
    ['{"a":1}', ['b', 'token']],
    ['{"a":"x"}', ['a', 'token']],
    ['[1]', ['4']],
    ['"x"', ['token']],
  ])('%s has no %j', (text, pointer) => {
    expect(findJsonPlace(text, pointer)).toBeNull();
  });

  test.each([
    ['not JSON', '{"token":"x"'],
    ['nothing', ''],
    ['a byte order mark', '\uFEFF{"token":"x"}'],
    ['a name twice', '{"token":"x","token":"y"}'],
    ['a name twice, one of them escaped', String.raw`{"token":"x","\u0074oken":"y"}`],
    ['a name twice elsewhere', '{"a":[{"b":1,"b":2}],"token":"x"}'],
    ['the name in another case beside it', '{"token":"x","Token":"y"}'],
    ['the name in another case in its place', '{"TOKEN":"y"}'],
    ['very deep', `${'['.repeat(500)}${']'.repeat(500)}`],
    ['two texts', '{"token":"x"}{"token":"y"}'],
  ])('%s is refused', (_, text) => {
    expect(() => findJsonPlace(text, ['token'])).toThrow(UnreadableJson);
  });

  test('in any JSON: what a plain reader finds there is what is exchanged, and nothing else changes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.boolean(), (object, name, wide) => {
        const all: Record<string, unknown> = { ...object };
        for (const key of Object.keys(all)) {
          if (key !== name && key.toLowerCase() === name.toLowerCase()) delete all[key];
        }
        Object.defineProperty(all, name, { value: 'old', enumerable: true, configurable: true, writable: true });
        const text = JSON.stringify(all, null, wide ? 2 : 0);
        expect(JSON.stringify(exchanged(text, [name], 'new'))).toBe(
          JSON.stringify(JSON.parse(text), (key, value: unknown) => (key === name && value === 'old' ? 'new' : value)),
        );
      }),
      { numRuns: 300 },
    );
  });
});
