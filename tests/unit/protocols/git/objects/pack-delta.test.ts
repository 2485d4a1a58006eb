import { describe, expect, test } from 'vitest';
import { applyDelta } from '../../../../../src/protocols/git/objects/delta.ts';
import { appendDelta, literalDelta, sizeBytes } from './pack-builder.ts';

const base = Buffer.from('the quick brown fox');
const head = (result: number, baseSize = base.length) => Buffer.concat([sizeBytes(baseSize), sizeBytes(result)]);
const delta = (result: number, ...instructions: number[]) => Buffer.concat([head(result), Buffer.from(instructions)]);

describe('a delta makes one object, or none', () => {
  test('copies and literal bytes, in any order', async () => {
    expect((await applyDelta(base, appendDelta(base.length, Buffer.from('!')), 100)).toString()).toBe(
      'the quick brown fox!',
    );
    expect((await applyDelta(base, literalDelta(base.length, Buffer.from('other')), 100)).toString()).toBe('other');
    // Copy 5 from 4, copy 4 from 0.
    expect((await applyDelta(base, delta(9, 0x91, 4, 5, 0x90, 4), 100)).toString()).toBe('quickthe ');
  });

  test('a copy without a size is of 64 KiB', async () => {
    const long = Buffer.alloc(0x10000 + 5, 'x');
    const copyAll = Buffer.concat([sizeBytes(long.length), sizeBytes(0x10000), Buffer.from([0x81, 5])]);
    expect(await applyDelta(long, copyAll, 0x10000)).toHaveLength(0x10000);
  });

  test.each([
    ['for a base of another size', Buffer.concat([head(1, base.length + 1), Buffer.from([1, 65])])],
    ['that copies from beyond the base', delta(5, 0x91, base.length - 4, 5)],
    ['that copies from 4 GiB on', delta(1, 0x98, 0xff, 1)],
    ['that makes more than it announces, by a copy', delta(4, 0x90, 5)],
    ['that makes more than it announces, by bytes', delta(1, 2, 65, 66)],
    ['that makes less than it announces', delta(6, 0x90, 5)],
    ['with the reserved instruction', delta(5, 0x90, 5, 0)],
    ['that ends inside an instruction', delta(5, 0x91, 4)],
    ['that ends inside its bytes', delta(5, 5, 65, 66)],
    ['that ends inside its sizes', Buffer.from([0x93, 0x80, 0x80, 0x80])],
    ['with an endless size', Buffer.alloc(40, 0xff)],
    ['of three bytes', delta(0, 0x90).subarray(0, 3)],
    ['of nothing', Buffer.alloc(0)],
  ])('a delta %s is refused', async (_, bytes) => {
    await expect(applyDelta(base, bytes, 1_000)).rejects.toThrow(expect.objectContaining({ code: 'malformed' }));
  });

  test('a result over the limit is refused before it is made', async () => {
    const claim = Buffer.concat([head(2 ** 40), Buffer.from([0x90, 5])]);
    await expect(applyDelta(base, claim, 1_000)).rejects.toThrow(expect.objectContaining({ code: 'too-large' }));
  });
});
