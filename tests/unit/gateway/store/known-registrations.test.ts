import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KnownRegistrations } from '../../../../src/gateway/store/known-registrations.ts';

const nowMs = 1_000_000;
const make = (id: string, version: number, claims: readonly string[] = [`id ${id}`], expiresAtMs = nowMs + 1000) => ({
  version,
  registration: { id, claims, expiresAtMs, body: `${version}` },
});

describe('what a gateway knows of registrations', () => {
  test('is the same in whatever order, and however often, the changes come', () => {
    const changes = [
      { kind: 'put', put: make('a', 1) },
      { kind: 'put', put: make('b', 2) },
      { kind: 'gone', id: 'a', version: 3 },
      { kind: 'put', put: make('b', 4) },
      { kind: 'put', put: make('a', 5) },
      { kind: 'gone', id: 'b', version: 6 },
    ] as const;
    const order = fc.shuffledSubarray([...changes, ...changes], { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(order, (shuffled) => {
        const known = new KnownRegistrations();
        for (const change of shuffled) {
          if (change.kind === 'put') known.put(change.put);
          else known.remove(change.id, change.version, nowMs);
        }
        expect(known.list()).toEqual([make('a', 5)]);
      }),
      { numRuns: 200 },
    );
  });

  test('a removed one is not believed again, until it would have expired; a new one of that name is', () => {
    const known = new KnownRegistrations();
    known.put(make('a', 1));
    expect(known.remove('a', 2, nowMs)).toBe(true);
    expect(known.put(make('a', 1))).toEqual({ kind: 'revoked' });
    known.sweep(nowMs + 3600_000);
    expect(known.put(make('a', 2))).toEqual({ kind: 'revoked' });
    expect(known.put(make('a', 3))).toEqual({ kind: 'new', displaced: [] });
    known.sweep(nowMs + 48 * 3600_000);
    expect(known.size).toBe(0);
    expect(known.goneWith('a')).toBe(0);
  });

  test('of two that claim the same the later one has it, whichever is heard of first', () => {
    const [earlier, later] = [make('a', 1, ['ip x']), make('b', 2, ['ip x'])];
    const one = new KnownRegistrations();
    one.put(earlier);
    expect(one.put(later)).toEqual({ kind: 'new', displaced: ['a'] });
    const other = new KnownRegistrations();
    other.put(later);
    expect(other.put(earlier)).toEqual({ kind: 'known' });
    expect(one.list()).toEqual(other.list());
  });

  test('says which removals a store that fell back to an earlier version has lost', () => {
    const known = new KnownRegistrations();
    for (const put of [make('a', 1), make('b', 2), make('c', 3)]) known.put(put);
    known.remove('a', 4, nowMs);
    expect(known.goneSince(3)).toEqual([{ id: 'a', version: 4 }]);
    expect(known.goneSince(4)).toEqual([]);
  });
});
