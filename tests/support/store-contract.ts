// What every store keeps to, whoever implements it: seen from two sides, such as two gateways of one Redis or two workers of
// one gateway. A store that one process has alone is both sides at once.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type RegistrationChange,
  type SharedStore,
  type StoredRegistration,
  StoreUnavailable,
} from '../../src/path/shared-store.ts';
import { eventually } from './eventually.ts';

export interface TwoSides {
  readonly one: SharedStore;
  readonly other: SharedStore;
  close(): Promise<void>;
}

/** One token in about a quarter of an hour: within a test nothing comes back. */
const hardlyAny = 0.001;

export function storedRegistration(id: string, more: Partial<StoredRegistration> = {}): StoredRegistration {
  return { id, claims: [`id ${id}`], expiresAtMs: Date.now() + 3_600_000, body: JSON.stringify({ id }), ...more };
}

export function describeStore(name: string, open: () => Promise<TwoSides>): void {
  describe(`the ${name} store keeps to what all stores promise`, () => {
    let sides: TwoSides;
    const changes: RegistrationChange[] = [];
    const fresh = () => `${name}-${randomUUID()}`;
    const alone = () => sides.one === sides.other;
    const seen = (id: string) => changes.filter((change) => 'id' in change && change.id === id).length;
    const put = (id: string) =>
      changes.flatMap((change) =>
        change.kind === 'put' && change.registration.id === id ? [change.registration] : [],
      );

    beforeAll(async () => {
      sides = await open();
      await sides.one.registrations.load();
      await sides.other.registrations.load();
      sides.other.registrations.watch((change) => changes.push(change));
    });
    afterAll(() => sides.close());

    test('of many registrations that claim the same at once, one has it, and the others are told who', async () => {
      const address = `ip ${fresh()}`;
      const asked = Array.from({ length: 20 }, (_, i) => {
        const id = fresh();
        const side = i % 2 === 0 ? sides.one : sides.other;
        return side.registrations
          .add(storedRegistration(id, { claims: [`id ${id}`, address] }))
          .then((taken) => ({ id, taken }));
      });
      const outcomes = await Promise.all(asked);
      const winners = outcomes.filter(({ taken }) => taken === null);
      expect(winners).toHaveLength(1);
      for (const { taken } of outcomes) {
        if (taken !== null) expect(taken).toEqual({ claim: address, holder: winners[0]!.id });
      }
    });

    test('a claim is free again when its registration was removed, or has expired', async () => {
      const [first, second, third] = [fresh(), fresh(), fresh()];
      const claims = (id: string) => ({ claims: [`id ${id}`, `ip ${first}`] });
      expect(await sides.one.registrations.add(storedRegistration(first, claims(first)))).toBeNull();
      expect(await sides.other.registrations.add(storedRegistration(second, claims(second)))).toEqual({
        claim: `ip ${first}`,
        holder: first,
      });
      expect(await sides.one.registrations.remove(first)).toEqual({ unconfirmed: [] });
      const short = { ...claims(second), expiresAtMs: Date.now() + 30 };
      expect(await sides.other.registrations.add(storedRegistration(second, short))).toBeNull();
      await eventually(
        async () => (await sides.one.registrations.add(storedRegistration(third, claims(third)))) === null,
        'the expired one is in nobody’s way',
      );
    });

    test('the other side knows of a registration, its change and its end when each is acknowledged', async () => {
      const id = fresh();
      await sides.one.registrations.add(storedRegistration(id));
      const later = Date.now() + 7_200_000;
      if (!alone()) expect(put(id)).toHaveLength(1);
      expect(
        await sides.one.registrations.replace(storedRegistration(id, { expiresAtMs: later, body: '{"more":1}' })),
      ).toBe(true);
      if (!alone()) expect(put(id).at(-1)).toMatchObject({ expiresAtMs: later, body: '{"more":1}' });
      expect(await sides.other.registrations.replace(storedRegistration(id, { body: '{"more":2}' }))).toBe(true);
      expect(await sides.one.registrations.remove(id)).toEqual({ unconfirmed: [] });
      if (!alone()) expect(seen(id)).toBe(1);
      expect(await sides.other.registrations.replace(storedRegistration(id))).toBe(false);
      expect(await sides.one.registrations.replace(storedRegistration(id))).toBe(false);
    });

    test('a registration that is extended lives longer on the other side too, and is never shortened', async () => {
      const id = fresh();
      const [until, later] = [Date.now() + 3_600_000, Date.now() + 7_200_000];
      await sides.one.registrations.add(storedRegistration(id, { expiresAtMs: until }));
      sides.one.registrations.extend(id, until - 1_800_000);
      sides.one.registrations.extend(id, later);
      sides.one.registrations.extend(fresh(), later);
      if (!alone())
        await eventually(() => put(id).some(({ expiresAtMs }) => expiresAtMs === later), 'the later end is known');
      for (const { expiresAtMs } of put(id)) expect(expiresAtMs).toBeGreaterThanOrEqual(until);
    });

    test('both sides together are never granted more than a rate allows, and all of it', async () => {
      const key = fresh();
      const rate = { perSecond: hardlyAny, burst: 50 };
      let granted = 0;
      for (let round = 0; round < 20; round++) {
        const waits = await Promise.all(
          Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? sides.one : sides.other).meters.take(key, rate)),
        );
        granted += waits.filter((waitMs) => waitMs === 0).length;
      }
      expect(granted).toBeLessThanOrEqual(50);
      // Each side may have a tenth in hand that nobody asked it for.
      expect(granted).toBeGreaterThanOrEqual(40);
      expect(await sides.one.meters.take(fresh(), { perSecond: 1, burst: 1 })).toBe(0);
      const refused = await sides.one.meters.take(key, rate);
      expect(refused).toBeGreaterThan(1000);
    });

    test('of what cannot wait for an answer both sides together have no more than the rate, once they know of each other', async () => {
      const rate = { perSecond: hardlyAny, burst: 40 };
      const takenOf = async (key: string): Promise<number> => {
        let granted = 0;
        for (let round = 0; round < 10; round++) {
          for (let i = 0; i < 20; i++) {
            if ((i % 2 === 0 ? sides.one : sides.other).meters.takeNow(key, rate) === 0) granted++;
          }
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return granted;
      };
      const taken: number[] = [];
      await eventually(async () => {
        taken.push(await takenOf(fresh()));
        return taken.at(-1)! <= 40;
      }, 'no more than the rate');
      expect(taken.at(-1)).toBeGreaterThanOrEqual(20);
    });

    test('of a small rate the last one is had by whichever side asks', async () => {
      const key = fresh();
      const rate = { perSecond: hardlyAny, burst: 3 };
      expect(await sides.one.meters.take(key, rate)).toBe(0);
      expect(await sides.other.meters.take(key, rate)).toBe(0);
      expect(await sides.other.meters.take(key, rate)).toBe(0);
      expect(await sides.one.meters.take(key, rate)).toBeGreaterThan(0);
      expect(await sides.other.meters.take(key, rate)).toBeGreaterThan(0);
    });

    test('bytes that are spent leave a debt, which the other side learns of', async () => {
      const key = fresh();
      const rate = { perSecond: 1000, burst: 1000 };
      expect(sides.one.meters.debtMs(key, rate)).toBe(0);
      sides.one.meters.spend(key, rate, 500);
      expect(sides.one.meters.debtMs(key, rate)).toBe(0);
      sides.one.meters.spend(key, rate, 60_500);
      expect(sides.one.meters.debtMs(key, rate)).toBeGreaterThan(50_000);
      await eventually(() => {
        sides.other.meters.spend(key, rate, 1);
        return sides.other.meters.debtMs(key, rate) > 50_000;
      }, 'the debt is known on the other side');
    });

    test.each([4, 40])(
      'of %i places no more are held by both sides together, and one that is left is free',
      async (limit) => {
        const key = fresh();
        const waits = await Promise.all(
          Array.from({ length: 60 }, async (_, i) => {
            const side = i % 2 === 0 ? sides.one : sides.other;
            return { side, waitMs: await side.meters.hold(key, limit) };
          }),
        );
        const holders = waits.filter(({ waitMs }) => waitMs === 0).map(({ side }) => side);
        expect(holders.length).toBeLessThanOrEqual(limit);
        // Where there are many, a side may have a few in hand.
        expect(holders.length).toBeGreaterThanOrEqual(limit - 2 * Math.floor(limit / 16));
        for (const side of holders) side.meters.release(key);
        const fewest = limit - Math.floor(limit / 16);
        const held = await eventually(async () => {
          const all = await Promise.all(Array.from({ length: limit }, () => sides.other.meters.hold(key, limit)));
          const got = all.filter((waitMs) => waitMs === 0).length;
          if (got < fewest) for (let i = 0; i < got; i++) sides.other.meters.release(key);
          return got >= fewest ? got : 0;
        }, 'the places are free for the other side');
        for (let i = 0; i < held; i++) sides.other.meters.release(key);
      },
    );

    test('sums are of both sides, and another period begins with nothing', async () => {
      const key = fresh();
      expect(await sides.one.tallies.total(key)).toBe(0);
      for (let i = 0; i < 10; i++) {
        sides.one.tallies.add(key, 3, 60_000);
        sides.other.tallies.add(key, 4, 60_000);
      }
      await eventually(async () => (await sides.one.tallies.total(key)) === 70, 'the sum of both, seen here');
      await eventually(async () => (await sides.other.tallies.total(key)) === 70, 'the sum of both, seen there');
      expect(await sides.one.tallies.total(fresh())).toBe(0);
    });

    test('a value that was put on one side is there on the other, until it is removed or its time is over', async () => {
      const key = fresh();
      const value = Buffer.from('a value');
      await sides.one.vault.put(key, value, 60_000);
      value.fill(0);
      expect(await sides.other.vault.get(key)).toEqual(Buffer.from('a value'));
      await sides.other.vault.remove(key);
      expect(await sides.one.vault.get(key)).toBeNull();
      await sides.one.vault.put(key, Buffer.from('short'), 30);
      await eventually(async () => (await sides.other.vault.get(key)) === null, 'its time is over');
      expect(await sides.one.vault.get(fresh())).toBeNull();
    });

    test('under one lock there is one at a time, also when it fails, and who waits too long is told', async () => {
      const name = fresh();
      let inside = 0;
      let most = 0;
      const visit = async (side: SharedStore, fails: boolean) =>
        side.locks.exclusively(name, 8000, async () => {
          most = Math.max(most, ++inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside--;
          if (fails) throw new Error('as planned');
          return 'done';
        });
      const visits = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) => visit(i % 2 === 0 ? sides.one : sides.other, i % 3 === 0)),
      );
      expect(most).toBe(1);
      expect(visits.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
      await sides.one.locks.exclusively(name, 8000, async () => {
        const late = sides.other.locks.exclusively(name, 50, async () => 'never');
        await expect(late).rejects.toThrow(StoreUnavailable);
      });
    });

    test('it has a name, and is not away', () => {
      for (const side of [sides.one, sides.other]) {
        expect(side.name).not.toBe('');
        expect(side.away).toBeNull();
      }
    });
  });
}
