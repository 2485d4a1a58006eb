import { describe, expect, test, vi } from 'vitest';
import { GatheredBytes } from '../../../src/protocols/gathered-bytes.ts';

describe('bytes that wait', () => {
  test('are in one piece, in their order, and taken once', () => {
    const gathered = new GatheredBytes();
    expect([gathered.length, gathered.take()]).toEqual([0, null]);
    for (const text of ['one', '', ' and ', 'x'.repeat(10_000), '!']) gathered.add(Buffer.from(text));
    const all = `one and ${'x'.repeat(10_000)}!`;
    expect([gathered.length, gathered.view().toString()]).toEqual([all.length, all]);
    expect([gathered.take()?.toString(), gathered.length, gathered.take()]).toEqual([all, 0, null]);
  });

  test('what was taken is not changed by what comes next', () => {
    const gathered = new GatheredBytes();
    for (const text of ['a', 'b', 'c']) gathered.add(Buffer.from(text));
    const taken = gathered.take();
    for (const text of ['x', 'y', 'z']) gathered.add(Buffer.from(text));
    expect(taken?.toString()).toBe('abc');
  });

  test('cost a few times what they are, however small the pieces are', () => {
    const copy = vi.spyOn(Buffer, 'allocUnsafeSlow');
    const gathered = new GatheredBytes();
    const piece = Buffer.from('x');
    for (let n = 0; n < 100_000; n++) gathered.add(piece);
    const roomsInBytes = copy.mock.calls.reduce((all, [bytes]) => all + bytes, 0);
    copy.mockRestore();
    expect(roomsInBytes).toBeLessThan(500_000);
  });
});
