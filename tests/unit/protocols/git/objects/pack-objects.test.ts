import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EMPTY_TREE_ID, oidOf } from '../../../../../src/protocols/git/objects/object-id.ts';
import { PackObjects } from '../../../../../src/protocols/git/objects/pack-objects.ts';
import { OverBudget } from '../../../../../src/protocols/git/objects/work-budget.ts';
import {
  appendDelta,
  commitText,
  literalDelta,
  objectsOf,
  type Part,
  packOf,
  scan,
  sizeBytes,
  treeText,
} from './pack-builder.ts';

const first = commitText(EMPTY_TREE_ID, [], 'first');
const second = commitText(EMPTY_TREE_ID, [oidOf('commit', first)], 'second');
const third = commitText(EMPTY_TREE_ID, [oidOf('commit', second)], 'third');
const ids = [first, second, third].map((content) => oidOf('commit', content));

describe('commits are found however they are written', () => {
  const blob = randomBytes(100);
  const ways: [string, Part[]][] = [
    ['whole', [first, second, third].map((content) => ({ code: 1, content }))],
    [
      'behind the blobs',
      [{ code: 3, content: blob }, ...[third, first, second].map((content) => ({ code: 1, content }))],
    ],
    [
      'as deltas by offset',
      [
        { code: 1, content: first },
        { code: 6, content: literalDelta(first.length, second), base: 0 },
        { code: 6, content: literalDelta(second.length, third), base: 1 },
      ],
    ],
    [
      'as deltas by id, each before its base',
      [
        { code: 7, content: literalDelta(second.length, third), base: ids[1] as string },
        { code: 7, content: literalDelta(first.length, second), base: ids[0] as string },
        { code: 1, content: first },
      ],
    ],
    [
      'as a delta by offset on a delta by id',
      [
        { code: 7, content: literalDelta(first.length, second), base: ids[0] as string },
        { code: 6, content: literalDelta(second.length, third), base: 0 },
        { code: 1, content: first },
      ],
    ],
  ];

  test.each(ways)('%s', async (_, parts) => {
    for (const limits of [{}, { maxHeldBytes: 0 }, { maxHeldBytes: 0, cacheBytes: 1 }]) {
      const objects = await objectsOf(packOf(parts), limits);
      expect(objects.missingBases).toEqual([]);
      expect([...objects.commits.keys()].sort()).toEqual([...ids].sort());
      expect(objects.commits.get(ids[2] as string)?.parents).toEqual([ids[1]]);
      expect(await objects.get(ids[2] as string)?.content()).toEqual(third);
    }
  });

  test('trees and tags are there too, blobs are not', async () => {
    const tree = treeText([['100644', 'a', oidOf('blob', blob)]]);
    const tag = Buffer.from(`object ${ids[0]}\ntype commit\ntag v1\n\n`);
    const objects = await objectsOf(
      packOf([
        { code: 2, content: tree },
        { code: 4, content: tag },
        { code: 3, content: blob },
      ]),
    );
    expect(objects.get(oidOf('tree', tree))?.type).toBe('tree');
    expect(objects.tags.get(oidOf('tag', tag))).toEqual({ target: ids[0], targetType: 'commit' });
    expect(objects.get(oidOf('blob', blob))).toBeNull();
  });
});

describe('a base that the pack leaves out', () => {
  const thin = packOf([
    { code: 7, content: literalDelta(first.length, second), base: ids[0] as string },
    { code: 6, content: literalDelta(second.length, third), base: 0 },
  ]);

  test('is listed, and once supplied the rest follows', async () => {
    const objects = await objectsOf(thin);
    expect(objects.missingBases).toEqual([ids[0]]);
    expect(objects.commits.size).toBe(0);
    objects.supply(ids[0] as string, 'commit', first);
    await objects.resolve();
    expect(objects.missingBases).toEqual([]);
    expect([...objects.commits.keys()]).toEqual([ids[1], ids[2]]);
  });

  test('is not taken from a liar', async () => {
    const objects = await objectsOf(thin);
    expect(() => objects.supply(ids[0] as string, 'commit', second)).toThrow('another id');
    expect(() => objects.supply(ids[0] as string, 'blob', first)).toThrow('another id');
  });

  test('is a blob of the pack: nothing is missing, also behind deltas on deltas', async () => {
    const blobs = ['a', 'b', 'c', 'd'].map((letter) => Buffer.from(letter.repeat(50)));
    const [a, b, c, d] = blobs as [Buffer, Buffer, Buffer, Buffer];
    const objects = await objectsOf(
      packOf([
        { code: 7, content: literalDelta(50, d), base: oidOf('blob', c) },
        { code: 7, content: literalDelta(50, c), base: oidOf('blob', b) },
        { code: 3, content: a },
        { code: 6, content: literalDelta(50, b), base: 2 },
      ]),
    );
    expect(objects.missingBases).toEqual([]);
  });

  test('and is a blob elsewhere: supplied, it makes no commit', async () => {
    const blob = Buffer.from('blob on the server');
    const pack = packOf([{ code: 7, content: literalDelta(blob.length, first), base: oidOf('blob', blob) }]);
    const objects = await objectsOf(pack);
    objects.supply(oidOf('blob', blob), 'blob', blob);
    await objects.resolve();
    expect(objects.missingBases).toEqual([]);
    expect(objects.commits.size).toBe(0);
  });

  test('too many of them, or too large, is refused', async () => {
    const parts = [first, second].map((base, n) => ({
      code: 7,
      content: literalDelta(base.length, commitText(EMPTY_TREE_ID, [], `${n}`)),
      base: oidOf('commit', base),
    }));
    await expect(objectsOf(packOf(parts), { maxMissingBases: 1 })).rejects.toMatchObject({ code: 'too-large' });
    const objects = await objectsOf(packOf(parts), { maxSuppliedBytes: first.length });
    objects.supply(ids[0] as string, 'commit', first);
    expect(() => objects.supply(ids[1] as string, 'commit', second)).toThrow('too large');
  });
});

describe('deltas cannot be made to run for ever', () => {
  test('in a circle, or on itself, they stay unresolved', async () => {
    const parts = [
      { code: 7, content: literalDelta(first.length, second), base: ids[2] as string },
      { code: 7, content: literalDelta(first.length, third), base: ids[1] as string },
      { code: 7, content: literalDelta(first.length, first), base: ids[0] as string },
    ];
    const objects = await objectsOf(packOf(parts));
    expect(new Set(objects.missingBases)).toEqual(new Set(ids));
    expect(objects.commits.size).toBe(0);
  });

  const chain = (length: number): Part[] => [
    { code: 1, content: first },
    ...Array.from({ length }, (_, n) => ({
      code: 6,
      content: appendDelta(first.length + n, Buffer.from('x')),
      base: n,
    })),
  ];

  test('a chain as deep as git allows is resolved, a deeper one refused', async () => {
    expect((await objectsOf(packOf(chain(4095)))).commits.size).toBe(4096);
    await expect(objectsOf(packOf(chain(4096)))).rejects.toMatchObject({ code: 'too-large' });
  });

  test('a chain whose bases do not fit in memory costs its budget and no more', async () => {
    const limits = { cacheBytes: 1, maxHeldBytes: 0, maxWorkBytes: 10_000_000 };
    await expect(objectsOf(packOf(chain(1_000)), limits)).rejects.toThrow(OverBudget);
  });

  test('small deltas that make large objects end with the budget', async () => {
    const base = treeText([['100644', 'a'.repeat(60_000), '1'.repeat(40)]]);
    const copy = Buffer.from([0xb0, base.length & 0xff, base.length >> 8]);
    const large = (n: number) =>
      Buffer.concat([
        sizeBytes(base.length),
        sizeBytes(base.length * 100 + 1),
        ...Array(100).fill(copy),
        Buffer.from([1, n]),
      ]);
    const parts = Array.from({ length: 50 }, (_, n) => ({ code: 6, content: large(n), base: 0 }));
    const pack = packOf([{ code: 2, content: base }, ...parts]);
    await expect(objectsOf(pack, { maxWorkBytes: 20_000_000 })).rejects.toMatchObject({ code: 'too-large' });
    await expect(objectsOf(pack, { maxObjectBytes: 1_000_000 })).rejects.toMatchObject({ code: 'too-large' });
  });

  test('an object too large to be looked into is refused, not read', async () => {
    const long = commitText(EMPTY_TREE_ID, [], 'x'.repeat(2_000));
    const limits = { maxHeldBytes: 0, maxObjectBytes: 1_000 };
    await expect(objectsOf(packOf([{ code: 1, content: long }]), limits)).rejects.toMatchObject({ code: 'too-large' });
  });
});

describe('a pack is not two packs', () => {
  test('the same commit twice is refused, whole or as a delta', async () => {
    const whole = { code: 1, content: first };
    const again = { code: 6, content: literalDelta(first.length, first), base: 0 };
    await expect(objectsOf(packOf([whole, whole]))).rejects.toThrow('same object twice');
    await expect(objectsOf(packOf([whole, again]))).rejects.toThrow('same object twice');
  });

  test('a commit that cannot be read refuses the pack', async () => {
    await expect(objectsOf(packOf([{ code: 1, content: Buffer.from('hello') }]))).rejects.toMatchObject({
      code: 'malformed',
    });
  });

  test('a spool that gives other bytes than were scanned is our fault, not a verdict', async () => {
    const { entries } = await scan(packOf([{ code: 1, content: first }]), { maxHeldBytes: 0 });
    const others = [
      Buffer.alloc(1_000, 1),
      Buffer.alloc(12),
      packOf([{ code: 4, content: first }]),
      packOf([{ code: 1, content: first }]).subarray(0, 40),
    ];
    for (const other of others) {
      const objects = new PackObjects(entries, async (offset, length) => other.subarray(offset, offset + length));
      await expect(objects.resolve()).rejects.toThrow('cannot be read as it was scanned');
    }
  });
});
