import { describe, expect, test, vi } from 'vitest';
import { HeldHead } from '../../../../../src/stages/forward/relay/held-head.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the head of an answer that comes in pieces', () => {
  test('is tried at the end of a line or after a while, with all that has come', () => {
    const held = new HeldHead();
    expect(held.isEmpty).toBe(true);
    expect(held.add(bytes('HTTP/1.1 '))?.toString()).toBe('HTTP/1.1 ');
    held.keep(bytes('HTTP/1.1 '));
    expect(held.isEmpty).toBe(false);
    expect(held.add(bytes('200 OK'))).toBeNull();
    const line = held.add(bytes('\r\n'));
    expect(line?.toString()).toBe('HTTP/1.1 200 OK\r\n');
    held.keep(line!);
    expect(held.add(bytes('x'.repeat(1023)))).toBeNull();
    expect(held.add(bytes('x'))?.length).toBe(17 + 1024);
  });

  test('goes on behind an interim answer, which is no head but no silence either', () => {
    const held = new HeldHead();
    held.keep(bytes('early\r\n\r\nHTTP').subarray(9));
    expect(held.add(bytes('/1.1\n'))?.toString()).toBe('HTTP/1.1\n');
    const after = new HeldHead();
    after.keep(bytes(''));
    expect(after.isEmpty).toBe(false);
    expect(after.add(bytes('H'))?.toString()).toBe('H');
  });

  test('costs a few times what it is, however small the pieces are', () => {
    const rooms = vi.spyOn(Buffer, 'allocUnsafeSlow');
    const concat = vi.spyOn(Buffer, 'concat');
    const held = new HeldHead();
    held.keep(bytes('H'));
    for (let n = 0; n < 60_000; n++) {
      const tried = held.add(bytes('x'));
      if (tried !== null) held.keep(tried);
    }
    const roomsInBytes = rooms.mock.calls.reduce((all, [size]) => all + size, 0);
    const joined = concat.mock.calls.length;
    rooms.mockRestore();
    concat.mockRestore();
    expect([roomsInBytes < 300_000, joined]).toEqual([true, 0]);
  });
});
