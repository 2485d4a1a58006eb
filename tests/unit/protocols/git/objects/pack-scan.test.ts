import { randomBytes } from 'node:crypto';
import { constants, deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { oidOf } from '../../../../../src/protocols/git/objects/object-id.ts';
import { PackScan } from '../../../../../src/protocols/git/objects/pack-scan.ts';
import { collectGarbage } from '../../../../support/collect-garbage.ts';
import { appendDelta, commitText, objectHeader, packOf, scan, sealed } from './pack-builder.ts';

const tree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const small = Buffer.from('a few words\n');
const large = randomBytes(90_000);
const commit = commitText(tree, []);
const parts = [
  { code: 3, content: large },
  { code: 3, content: small },
  { code: 1, content: commit },
  { code: 6, content: appendDelta(small.length, Buffer.from('more\n')), base: 1 },
  { code: 2, content: Buffer.alloc(0) },
];

describe('a pack is read as it arrives', () => {
  test.each([1, 7, 20, 4096, 1_000_000])('in chunks of %i bytes it says the same', async (chunkBytes) => {
    const pack = packOf(parts);
    const { entries, packBytes, checksum, inflatedBytes } = await scan(pack, {}, chunkBytes);
    expect(packBytes).toBe(pack.length);
    expect(checksum).toBe(pack.subarray(-20).toString('hex'));
    expect(inflatedBytes).toBe(parts.reduce((sum, part) => sum + part.content.length, 0));
    expect([0, 1, 2, 4].map((index) => entries.id(index))).toEqual([
      oidOf('blob', large),
      oidOf('blob', small),
      oidOf('commit', commit),
      tree,
    ]);
    expect(entries.base(3)).toBe(1);
    expect(entries.end(4)).toBe(pack.length - 20);
  });

  test('a pack without objects is a pack', async () => {
    expect((await scan(packOf([]))).entries.count).toBe(0);
  });

  test('content of commits is held, content of blobs and of changes to blobs is not', async () => {
    const { entries } = await scan(packOf(parts));
    expect([0, 1, 2, 3].map((index) => entries.held(index)?.length)).toEqual([
      undefined,
      undefined,
      commit.length,
      undefined,
    ]);
  });

  test('beyond its budget it holds nothing more', async () => {
    const commits = [1, 2, 3].map((n) => ({ code: 1, content: commitText(tree, [], `number ${n}`) }));
    const { entries } = await scan(packOf(commits), { maxHeldBytes: 900 });
    expect([0, 1, 2].filter((index) => entries.held(index) !== undefined)).toEqual([0, 1]);
  });

  test('one chunk at a time: the next before the last is taken is a fault of the caller', async () => {
    const scanning = new PackScan();
    const pack = packOf(parts);
    const first = scanning.feed(pack.subarray(0, 50_000));
    await expect(scanning.feed(pack.subarray(50_000))).rejects.toThrow('before it had taken the last chunk');
    await first;
  });

  test('given up half-way it ends instead of waiting', async () => {
    const scanning = new PackScan();
    const feeding = scanning.feed(packOf(parts).subarray(0, 50_000));
    scanning.destroy();
    await expect(feeding.then(() => scanning.end())).rejects.toThrow('given up');
  });
});

describe('a pack that lies is refused', () => {
  const malformed = (pack: Buffer) => expect(scan(pack)).rejects.toMatchObject({ code: 'malformed' });

  test('cut short anywhere', async () => {
    const pack = packOf([parts[1], parts[2], parts[4]] as typeof parts);
    for (let length = 0; length < pack.length; length++) {
      await expect(scan(pack.subarray(0, length)), `${length} bytes`).rejects.toMatchObject({ code: 'malformed' });
    }
    await malformed(packOf(parts).subarray(0, 60_000));
  });

  test('bytes behind its end, in the same chunk or in another', async () => {
    const longer = Buffer.concat([packOf(parts), Buffer.from('x')]);
    await malformed(longer);
    await expect(scan(longer, {}, longer.length - 1)).rejects.toThrow('behind the end');
  });

  test('a wrong checksum', () => malformed(packOf(parts, { checksum: Buffer.alloc(20) })));
  test('more objects than announced', () => malformed(packOf(parts, { count: 4 })));
  test('fewer objects than announced', async () => {
    // The checksum is read as the head of one more object, and what it claims by chance may be too large to begin with.
    await expect(scan(packOf(parts, { count: 6 }))).rejects.toMatchObject({
      code: expect.stringMatching(/^(malformed|too-large)$/),
    });
  });

  test.each([
    ['small, longer than it claims', { code: 3, content: small, size: small.length - 1 }],
    ['small, shorter than it claims', { code: 3, content: small, size: small.length + 1 }],
    ['large, longer than it claims', { code: 3, content: large, size: large.length - 1 }],
    ['large, shorter than it claims', { code: 3, content: large, size: large.length + 1 }],
    ['large, claiming to be empty', { code: 3, content: large, size: 0 }],
    ['small, claiming to be large', { code: 3, content: small, size: 10_000_000 }],
    ['not compressed', { code: 3, content: small, packed: Buffer.alloc(64, 0x55) }],
    ['large and not compressed', { code: 3, content: large, packed: Buffer.alloc(400_000, 0x55) }],
    ['of type 0', { code: 0, content: small }],
    ['of type 5', { code: 5, content: small }],
  ])('an object that is %s', (_, part) => malformed(packOf([part, { code: 2, content: Buffer.alloc(0) }])));

  test('an object padded with empty blocks, small or large', async () => {
    const emptyBlocks = Buffer.alloc(500_000, Buffer.from([0, 0, 0, 0xff, 0xff]));
    for (const content of [small, large]) {
      const plain = deflateSync(content, { level: constants.Z_NO_COMPRESSION });
      const packed = Buffer.concat([plain.subarray(0, 2), emptyBlocks, plain.subarray(2)]);
      await expect(scan(packOf([{ code: 3, content, packed }]))).rejects.toThrow('more bytes compressed');
    }
  });

  test('a header that never ends, and a size beyond all numbers', async () => {
    const pack = packOf([]);
    pack.writeUInt32BE(1, 8);
    await malformed(sealed(Buffer.concat([pack.subarray(0, 12), Buffer.alloc(40, 0xff)])));
    await malformed(sealed(Buffer.concat([pack.subarray(0, 12), Buffer.alloc(40, 0xb0)])));
  });

  test.each([0, 1, 5, 100_000])('a delta whose base is %i bytes back, where no object begins', (distance) =>
    malformed(packOf([parts[1], { code: 6, content: appendDelta(12, small), distance }] as typeof parts)),
  );

  test('something else instead of a pack, and another version', async () => {
    await malformed(Buffer.from('PACX\0\0\0\x02\0\0\0\0'));
    await expect(scan(packOf([], { version: 4 }))).rejects.toMatchObject({ code: 'unsupported' });
  });

  test('once refused it stays refused', async () => {
    const scanning = new PackScan();
    await expect(scanning.feed(Buffer.alloc(64))).rejects.toThrow('not one');
    await expect(scanning.feed(packOf(parts))).rejects.toThrow('not one');
    await expect(scanning.end()).rejects.toThrow('not one');
  });
});

describe('a pack that is too much is refused before it is work', () => {
  const tooLarge = { code: 'too-large' };

  test('four thousand million objects, announced in twelve bytes', async () => {
    const scanning = new PackScan();
    const header = packOf([], { count: 0xffff_ffff }).subarray(0, 12);
    await expect(scanning.feed(header)).rejects.toMatchObject(tooLarge);
  });

  test('a bomb that says how large it is', async () => {
    const scanning = new PackScan({ maxInflatedBytes: 1_000_000 });
    const pack = Buffer.concat([packOf([], { count: 1 }).subarray(0, 12), objectHeader(3, 1_000_001), Buffer.alloc(9)]);
    await expect(scanning.feed(pack)).rejects.toMatchObject(tooLarge);
  });

  test('a bomb that does not say it ends where it goes beyond its word', async () => {
    const zeros = Buffer.alloc(64 * 1024 * 1024);
    const before = process.memoryUsage().rss;
    await expect(scan(packOf([{ code: 3, content: zeros, size: 70_000 }]))).rejects.toThrow('as long as it claims');
    await expect(scan(packOf([{ code: 3, content: zeros, size: 700 }]))).rejects.toThrow('as long as it claims');
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('memory does not grow with the blobs', () => {
  test('200 MiB of incompressible blobs in under 64 MiB', async () => {
    const blob = randomBytes(4 * 1024 * 1024);
    const packed = Buffer.concat([objectHeader(3, blob.length), deflateSync(blob, { level: 1 })]);
    const scanning = new PackScan();
    await scanning.feed(packOf([], { count: 50 }).subarray(0, 12));
    const before = process.memoryUsage().rss;
    let highest = before;
    for (let n = 0; n < 50; n++) {
      for (let at = 0; at < packed.length; at += 65_536) {
        // A copy, as from a socket: nothing of it may be kept.
        await scanning.feed(Buffer.from(packed.subarray(at, at + 65_536)));
      }
      // On a busy machine what nobody holds any more may wait long for its collection.
      collectGarbage();
      highest = Math.max(highest, process.memoryUsage().rss);
    }
    await expect(scanning.end()).rejects.toThrow('before it is complete');
    expect(highest - before).toBeLessThan(64 * 1024 * 1024);
  });

  test('tiny commits between blobs hold their own bytes, not the buffers they came in', async () => {
    const pairs = Array.from({ length: 4_000 }, (_, n) => [
      { code: 1, content: commitText(tree, [], `number ${n}`) },
      { code: 3, content: randomBytes(3_000) },
    ]).flat();
    const { entries } = await scan(packOf(pairs));
    const backing = new Set<ArrayBufferLike>();
    for (let index = 0; index < entries.count; index += 2) backing.add(entries.held(index)?.buffer as ArrayBufferLike);
    expect([...backing].reduce((sum, buffer) => sum + buffer.byteLength, 0)).toBeLessThan(2 * 1024 * 1024);
  });
});
