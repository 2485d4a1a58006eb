import { describe, expect, test } from 'vitest';
import { H2Flood, type SessionTotals } from '../../../../src/kit/floods/h2-flood.ts';

const quiet: SessionTotals = { wireBytes: 0, usefulBytes: 0, takenBytes: 0, unreadPieces: 0 };
const mebibyte = 1024 * 1024;

describe('a session of HTTP/2 is ended for what it sends', () => {
  test('when it carries nothing, beyond a burst and what time gives back', () => {
    const flood = new H2Flood(0);
    expect(flood.look({ ...quiet, wireBytes: mebibyte }, 0)).toBeNull();
    expect(flood.look({ ...quiet, wireBytes: mebibyte + 60 * 1024 }, 1000)).toBeNull();
    expect(flood.look({ ...quiet, wireBytes: mebibyte + 200 * 1024 }, 1000)).toContain('carry nothing');
  });

  test('when it takes back more than it may', () => {
    const flood = new H2Flood(0);
    for (let n = 0; n < 256; n++) expect(flood.isResetTooMany(0)).toBe(false);
    expect(flood.isResetTooMany(0)).toBe(true);
    const patient = new H2Flood(0);
    for (let n = 0; n < 1000; n++) expect(patient.isResetTooMany(n * 20)).toBe(false);
  });

  test('when it leaves bodies lying in crumbs', () => {
    expect(new H2Flood(0).look({ ...quiet, unreadPieces: 20_000 }, 0)).toContain('pieces');
  });

  test.each<[string, SessionTotals]>([
    ['much that is of use', { ...quiet, wireBytes: 100 * mebibyte, usefulBytes: 99.5 * mebibyte }],
    ['the window updates of who takes much in', { ...quiet, wireBytes: 4 * mebibyte, takenBytes: 1024 * mebibyte }],
    ['bodies that wait in pieces of the usual size', { ...quiet, unreadPieces: 2048 }],
  ])('and never for %s', (_what, totals) => {
    expect(new H2Flood(0).look(totals, 0)).toBeNull();
  });
});
