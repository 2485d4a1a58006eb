import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readableCodings, readableExtensions } from '../../../../../src/stages/inject/scrub/readable-answer.ts';

describe('an upstream is only offered codings that can be read', () => {
  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip, deflate, br'],
    ['GZip;q=0.5 , x-gzip', 'GZip;q=0.5, x-gzip'],
    ['zstd', 'identity'],
    ['compress, dcb, dcz', 'identity'],
    ['identity', 'identity'],
    ['gzip;q=1.0, identity; q=0.5, *;q=0', 'gzip;q=1.0, identity; q=0.5'],
    ['*', 'gzip, br, deflate'],
    ['br, *;q=0.1', 'br, gzip;q=0.1, deflate;q=0.1'],
    ['gzip;q=0, *', 'gzip;q=0, br, deflate'],
    ['zstd;q=1, gzip;q=0.000', 'identity'],
    ['identity;q=0', 'identity'],
    ['*;q=0', 'identity'],
    [',, gzip,', 'gzip'],
  ])('%s: %s', (value, coding) => {
    expect(readableCodings(value)).toBe(coding);
  });

  test('whatever a client asks for, nothing else goes out', () => {
    const coding = fc.constantFrom('gzip', 'zstd', 'br', '*', 'identity', 'x', 'deflate', 'gzip zstd', 'zstd;gzip');
    const weight = fc.constantFrom('', ';q=0', ';q=0.3', '; Q=1', ';q=x');
    fc.assert(
      fc.property(fc.array(fc.tuple(coding, weight), { maxLength: 6 }), (codings) => {
        const out = readableCodings(codings.map((coding) => coding.join('')).join(','));
        for (const one of out.split(',')) {
          expect(['gzip', 'deflate', 'br', 'identity']).toContain(one.split(';')[0]!.trim());
        }
      }),
    );
  });
});

test('of the extensions of WebSocket only the one that can be read is offered', () => {
  expect(readableExtensions('x-mux, permessage-deflate; client_max_window_bits')).toBe(
    'permessage-deflate; client_max_window_bits',
  );
  expect(readableExtensions('x-mux')).toBeNull();
});
