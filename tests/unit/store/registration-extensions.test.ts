import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { VersionedRegistration } from '../../../src/store/known-registrations.ts';
import { RegistrationExtensions } from '../../../src/store/registration-extensions.ts';

const hour = 3_600_000;
const everyMs = 1_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function ground() {
  const known = new Map<string, VersionedRegistration>();
  const written: [string, number][] = [];
  const know = (id: string, body = 'first', expiresAtMs = hour): void => {
    known.set(id, { version: 1, registration: { id, claims: [], expiresAtMs, body } });
  };
  const extensions = new RegistrationExtensions({
    find: (id) => known.get(id),
    write: async ({ registration: { id, body } }, expiresAtMs) => {
      written.push([id, expiresAtMs]);
      know(id, body, expiresAtMs);
    },
    now: () => 0,
  });
  return { known, know, written, extensions };
}

describe('renewals by traffic', () => {
  test('are written once, with the latest end', async () => {
    const { know, written, extensions } = ground();
    know('one');
    for (const hours of [2, 4, 3]) extensions.extend('one', hours * hour);
    await vi.advanceTimersByTimeAsync(5 * everyMs);
    expect(written).toEqual([['one', 4 * hour]]);
  });

  test('of a registration that was removed are not for the next one of its id', async () => {
    const { known, know, written, extensions } = ground();
    know('one');
    extensions.extend('one', 24 * hour);
    know('one', 'second');
    know('two');
    extensions.extend('two', 24 * hour);
    known.delete('two');
    extensions.extend('nobody', 24 * hour);
    await vi.advanceTimersByTimeAsync(5 * everyMs);
    expect(written).toEqual([]);
    // Its own traffic prolongs it, also by less.
    extensions.extend('one', 2 * hour);
    await vi.advanceTimersByTimeAsync(5 * everyMs);
    expect(written).toEqual([['one', 2 * hour]]);
  });
});
