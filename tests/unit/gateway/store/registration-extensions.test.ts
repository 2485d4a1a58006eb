import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { VersionedRegistration } from '../../../../src/gateway/store/known-registrations.ts';
import { RegistrationExtensions } from '../../../../src/gateway/store/registration-extensions.ts';

const hour = 3_600_000;
const everyMs = 1_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function ground() {
  const known = new Map<string, VersionedRegistration>();
  const written: [string, number][] = [];
  const answers: (() => void)[] = [];
  const state = { isSlow: false };
  const know = (id: string, body = 'first', expiresAtMs = hour): void => {
    known.set(id, { version: 1, registration: { id, claims: [], expiresAtMs, body } });
  };
  const extensions = new RegistrationExtensions({
    find: (id) => known.get(id),
    write: async ({ registration: { id, body } }, expiresAtMs) => {
      written.push([id, expiresAtMs]);
      if (state.isSlow) await new Promise<void>((resolve) => answers.push(resolve));
      know(id, body, expiresAtMs);
    },
    now: () => 0,
  });
  return { known, know, written, answers, state, extensions };
}

describe('renewals by traffic', () => {
  test('are written once, with the latest end', async () => {
    const { know, written, extensions } = ground();
    know('one');
    for (const hours of [2, 4, 3]) extensions.extend('one', hours * hour);
    await vi.advanceTimersByTimeAsync(5 * everyMs);
    expect(written).toEqual([['one', 4 * hour]]);
  });

  test('of many sandboxes are written a few at a time, each once, however long it takes', async () => {
    const { know, written, answers, state, extensions } = ground();
    state.isSlow = true;
    const ids = Array.from({ length: 100 }, (_, i) => `sandbox-${i}`);
    for (const id of ids) know(id);
    for (const id of ids) extensions.extend(id, 24 * hour);
    const inFlight: number[] = [];
    do {
      await vi.advanceTimersByTimeAsync(5 * everyMs);
      inFlight.push(answers.length);
      for (const answer of answers.splice(0)) answer();
    } while (inFlight.at(-1)! > 0);
    expect(inFlight).toEqual([32, 32, 32, 4, 0]);
    expect(written.map(([id]) => id)).toEqual(ids);
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
