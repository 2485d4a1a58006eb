import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSealedBox } from '../../../src/kit/sealed-box.ts';

const secret = randomBytes(32);
const box = createSealedBox(secret, 'store');
const bytes = fc.uint8Array({ maxLength: 300 });

describe('a sealed box opens for its own secret and its own name alone', () => {
  test('what was sealed comes out as it was', () => {
    fc.assert(
      fc.property(fc.string(), bytes, (name, plain) => {
        expect(box.open(name, box.seal(name, plain))).toEqual(Buffer.from(plain));
      }),
      { numRuns: 100 },
    );
  });

  test('any other name, another secret and another purpose open nothing', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), bytes, (name, other, plain) => {
        fc.pre(name !== other);
        const sealed = box.seal(name, plain);
        expect(box.open(other, sealed)).toBeNull();
        expect(createSealedBox(secret, 'other').open(name, sealed)).toBeNull();
        expect(createSealedBox(randomBytes(32), 'store').open(name, sealed)).toBeNull();
      }),
      { numRuns: 50 },
    );
  });

  test('a changed bit anywhere, or a cut anywhere, opens nothing', () => {
    const sealed = box.seal('a', Buffer.from('twenty bytes of text'));
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(box.open('a', changed)).toBeNull();
    }
    for (let length = 0; length < sealed.length; length++) expect(box.open('a', sealed.subarray(0, length))).toBeNull();
    expect(box.open('a', Buffer.concat([sealed, Buffer.of(0)]))).toBeNull();
  });

  test('garbage of any length opens nothing and throws nothing', () => {
    fc.assert(
      fc.property(bytes, (garbage) => {
        expect(box.open('a', garbage)).toBeNull();
        expect(box.open('a', Buffer.concat([Buffer.of(1), garbage]))).toBeNull();
      }),
      { numRuns: 100 },
    );
  });

  test('the same text is sealed differently each time, and shows nothing of itself', () => {
    const plain = Buffer.from('a secret that is long enough to be found');
    const [one, two] = [box.seal('a', plain), box.seal('a', plain)];
    expect(one.equals(two)).toBe(false);
    expect(one.subarray(1, 13).equals(two.subarray(1, 13))).toBe(false);
    expect(one.includes(plain.subarray(0, 8))).toBe(false);
  });
});

describe('a hidden name', () => {
  test('is the same for the same text and secret, and another for any other', () => {
    expect(box.hide('ticket')).toBe(createSealedBox(secret, 'store').hide('ticket'));
    expect(box.hide('ticket')).not.toBe(box.hide('ticket2'));
    expect(box.hide('ticket')).not.toBe(createSealedBox(randomBytes(32), 'store').hide('ticket'));
    expect(box.hide('ticket')).toMatch(/^[\w-]{32}$/);
  });
});
