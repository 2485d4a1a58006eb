// Our HPACK against python3-hpack, which shares no code with it: what either writes the other reads as the same fields, over
// many blocks of one connection, with Huffman codes, tables of changing size and fields that come again.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { HpackDecoder } from '../../src/protocols/http2/hpack-decoder.ts';
import { HpackEncoder } from '../../src/protocols/http2/hpack-encoder.ts';
import { seededRandom } from '../support/seeded-random.ts';

const run = promisify(execFile);
const { random } = seededRandom();
const int = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));

const names = [
  'content-type',
  'date',
  'x-a',
  'x-b',
  'cookie',
  'authorization',
  'cache-control',
  'x-long',
  'etag',
  'via',
];
const kept = Array.from({ length: 40 }, () => text(int(0, 60)));

/** Anything that may stand in a value, all of the Huffman code included. */
function text(length: number): string {
  const inner = Array.from({ length }, () => String.fromCharCode(int(0, 4) === 0 ? int(0x80, 0xff) : int(0x21, 0x7e)));
  return inner.join('');
}

function blocks(count: number): [string, string][][] {
  return Array.from({ length: count }, () =>
    Array.from({ length: int(0, 12) }, () => [
      names[int(0, names.length - 1)]!,
      int(0, 2) > 0 ? kept[int(0, kept.length - 1)]! : text(int(0, 400)),
    ]),
  );
}

const sizes = [4096, 4096, 0, 100, 1000, 4096, 60];

async function python(script: string, input: unknown): Promise<unknown> {
  const child = run('/usr/bin/python3', ['-c', script], { maxBuffer: 1 << 28 });
  child.child.stdin!.end(JSON.stringify(input));
  return JSON.parse((await child).stdout);
}

test('what python3-hpack writes', async () => {
  const lists = blocks(1500);
  const written = (await python(
    `
import json, sys, hpack
encoder = hpack.Encoder()
out = []
sizes = ${JSON.stringify(sizes)}
for n, block in enumerate(json.load(sys.stdin)):
    if n % 50 == 0: encoder.header_table_size = sizes[n // 50 % len(sizes)]
    fields = [hpack.HeaderTuple(a.encode('latin-1'), b.encode('latin-1')) if n % 3 else hpack.NeverIndexedHeaderTuple(a.encode('latin-1'), b.encode('latin-1')) for a, b in block]
    out.append(encoder.encode(fields, huffman=n % 4 != 0).hex())
print(json.dumps(out))
`,
    lists,
  )) as string[];
  const decoder = new HpackDecoder(1 << 20);
  written.forEach((hex, n) => {
    const bytes = Buffer.from(hex, 'hex');
    const { names: got, values, fault } = decoder.decode(bytes, 0, bytes.length);
    expect(fault).toBe(null);
    expect(got.map((name, i) => [name, values[i]])).toEqual(lists[n]);
  });
});

test('what we write', async () => {
  // We write no field twice that may stand once.
  const lists = blocks(1500).map((list) => [...new Map(list)]);
  const encoder = new HpackEncoder();
  const room = Buffer.alloc(1 << 16);
  const written = lists.map((list, n) => {
    if (n % 50 === 0) encoder.limitTable(sizes[(n / 50) % sizes.length]!);
    const parts = [list.map(([name]) => name), list.map(([, value]) => value)] as const;
    expect(encoder.measure(...parts)).toBeLessThan(room.length);
    return room.toString('hex', 0, encoder.write(room, 0, [200, 204, 418][n % 3]!, ...parts));
  });
  const read = await python(
    `
import json, sys, hpack
decoder = hpack.Decoder()
out = []
for block in json.load(sys.stdin):
    fields = decoder.decode(bytes.fromhex(block), raw=True)
    out.append([[a.decode('latin-1'), b.decode('latin-1')] for a, b in fields])
print(json.dumps(out))
`,
    written,
  );
  expect(read).toEqual(lists.map((list, n) => [[':status', String([200, 204, 418][n % 3])], ...list]));
  expect(written.join('').length).toBeLessThan(JSON.stringify(lists).length * 2);
});
