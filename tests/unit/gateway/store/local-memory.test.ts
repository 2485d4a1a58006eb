import { describe, expect, test } from 'vitest';
import { LocalLocks } from '../../../../src/gateway/store/local-locks.ts';
import { LocalTallies } from '../../../../src/gateway/store/local-tallies.ts';
import { LocalVault } from '../../../../src/gateway/store/local-vault.ts';
import { StoreUnavailable } from '../../../../src/path/shared-store.ts';

describe('sums in this process', () => {
  test('end with their time, and are not kept for ever', () => {
    let nowMs = 0;
    const tallies = new LocalTallies(() => nowMs);
    tallies.add('a', 2, 1000);
    tallies.add('a', 3, 1000);
    expect(tallies.total('a')).toBe(5);
    nowMs = 999;
    expect(tallies.total('a')).toBe(5);
    nowMs = 1000;
    expect(tallies.total('a')).toBe(0);
    tallies.add('a', 1, 1000);
    expect(tallies.total('a')).toBe(1);
    for (let i = 0; i < 20_000; i++) {
      nowMs += 1;
      tallies.add(`period ${i}`, 1, 500);
    }
    expect(tallies.size).toBeLessThan(3000);
  });
});

describe('values in this process', () => {
  test('end with their time; what is written to a buffer afterwards changes nothing', async () => {
    let nowMs = 1000;
    const vault = new LocalVault(() => nowMs);
    const value = Buffer.from('one');
    await vault.put('a', value, 100);
    value.fill(0);
    (await vault.get('a'))!.fill(0);
    expect(await vault.get('a')).toEqual(Buffer.from('one'));
    nowMs = 1101;
    expect(await vault.get('a')).toBeNull();
    await vault.put('a', Buffer.from('two'), 0);
    expect(await vault.get('a')).toBeNull();
  });

  test('are bounded in number and in bytes: those used longest ago go', async () => {
    const few = new LocalVault(undefined, { maxValues: 10 });
    for (let i = 0; i < 100; i++) await few.put(`k${i}`, Buffer.from('v'), 60_000);
    expect(few.size).toBe(10);
    expect(await few.get('k0')).toBeNull();
    expect(await few.get('k99')).not.toBeNull();
    const small = new LocalVault(undefined, { maxBytes: 10_000 });
    for (let i = 0; i < 100; i++) await small.put(`k${i}`, Buffer.alloc(1000), 60_000);
    expect(small.size).toBeLessThan(10);
    await expect(small.put('k', Buffer.alloc(20_000), 60_000)).rejects.toThrow(/larger than the vault/);
  });
});

describe('locks in this process', () => {
  test('are had in the order in which they were asked for, each by its own name', async () => {
    const locks = new LocalLocks();
    const order: string[] = [];
    const visit = (name: string, who: string) =>
      locks.exclusively(name, 1000, async () => {
        await Promise.resolve();
        order.push(who);
      });
    await Promise.all([visit('a', '1'), visit('a', '2'), visit('a', '3'), visit('b', 'b')]);
    expect(order.filter((who) => who !== 'b')).toEqual(['1', '2', '3']);
  });

  test('whoever gave up waiting leaves no hole in the line', async () => {
    const locks = new LocalLocks();
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const first = locks.exclusively('a', 0, () => left);
    const second = locks.exclusively('a', 5, async () => 'second');
    const third = locks.exclusively('a', 10_000, async () => 'third');
    await expect(second).rejects.toThrow(StoreUnavailable);
    leave();
    await first;
    expect(await third).toBe('third');
    expect(await locks.exclusively('a', 0, async () => 'free')).toBe('free');
  });
});
