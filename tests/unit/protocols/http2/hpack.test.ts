import { describe, expect, test } from 'vitest';
import { HpackDecoder } from '../../../../src/protocols/http2/hpack-decoder.ts';
import { HpackEncoder, UnwritableField } from '../../../../src/protocols/http2/hpack-encoder.ts';
import { errorCode, Http2Fault } from '../../../../src/protocols/http2/http2-fault.ts';

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

function read(decoder: HpackDecoder, hex: string): string[] {
  const bytes = bytesOf(hex);
  const { names, values, fault } = decoder.decode(bytes, 0, bytes.length);
  expect(fault).toBe(null);
  return names.map((name, i) => `${name}: ${values[i]}`);
}

const first = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];
const requests = [
  first,
  [...first, 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
];
const answered = (status: string, second: number): string[] => [
  `:status: ${status}`,
  'cache-control: private',
  `date: Mon, 21 Oct 2013 20:13:${second} GMT`,
  'location: https://www.example.com',
];
const answers = [
  answered('302', 21),
  [answered('307', 21)[0]!, ...answered('307', 21).slice(1)],
  [
    ...answered('200', 22),
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
];
/** The examples of answers have a table of 256 bytes. */
const smallTable = '3fe101';

describe('the examples of RFC 7541, appendix C', () => {
  test.each<[string, string[], string[][]]>([
    [
      'C.3, requests',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
      requests,
    ],
    [
      'C.4, requests with Huffman codes',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      requests,
    ],
    [
      'C.5, answers, whose table is too small for all',
      [
        `${smallTable} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      ],
      answers,
    ],
    [
      'C.6, answers with Huffman codes',
      [
        `${smallTable} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
      answers,
    ],
  ])('%s', (_what, blocks, lists) => {
    const decoder = new HpackDecoder(65_536);
    expect(blocks.map((block) => read(decoder, block))).toEqual(lists);
  });
});

function faultOf(act: () => unknown): number | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof Http2Fault) return error.code;
    throw error;
  }
}

describe('a block that cannot be read ends the connection', () => {
  test.each([
    ['index 0', '80'],
    ['an index past the table', 'be'],
    ['an index far past it', 'ffffffff7f'],
    ['a number without an end', 'ffffffffffffffff'],
    ['a number that ends with the block', 'ff'],
    ['a name that is longer than the block', '400561'],
    ['no value', '400161'],
    ['a value that is longer than the block', '4001610561'],
    ['a table larger than it may be', '3fe21f'],
    ['a table that changes behind a field', '8220'],
    ['a table that changes three times', '202020'],
    ['Huffman padding that is too long', '400161 82ffff'],
    ['Huffman padding of noughts', '400161 8100'],
    ['the end symbol of Huffman', '400161 84 ffffffff'],
  ])('%s', (_what, hex) => {
    const bytes = bytesOf(hex);
    expect(faultOf(() => new HpackDecoder(65_536).decode(bytes, 0, bytes.length))).toBe(errorCode.compression);
  });

  test('and a table of the usual size, twice changed, is none', () => {
    expect(read(new HpackDecoder(65_536), '20 3fe11f 82')).toEqual([':method: GET']);
  });
});

describe('fields that may not be', () => {
  const block = (name: string, value: string): Buffer =>
    Buffer.concat([
      Buffer.from([0x40, name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]);

  test.each([
    ['X', 'y'],
    ['', 'y'],
    [':', 'y'],
    ['a b', 'y'],
    ['a:b', 'y'],
    ['a\0', 'y'],
    ['caf\xe9', 'y'],
    ['x', 'a\r\nb'],
    ['x', 'a\nb'],
    ['x', 'a\rb'],
    ['x', 'a\0b'],
    ['x', 'a\x7fb'],
    ['x', ' a'],
    ['x', 'a\t'],
    ['x', ' '],
  ])('%j: %j is told of the block, and again where it comes out of the table', (name, value) => {
    const decoder = new HpackDecoder(65_536);
    const bytes = block(name, value);
    expect(decoder.decode(bytes, 0, bytes.length).fault).not.toBe(null);
    const again = bytesOf('be');
    expect(decoder.decode(again, 0, 1).fault).not.toBe(null);
    expect(read(decoder, '82')).toEqual([':method: GET']);
  });

  test('a bad name with a good value', () => {
    const decoder = new HpackDecoder(65_536);
    const bytes = block('X', 'y');
    decoder.decode(bytes, 0, bytes.length);
    const again = bytesOf('7e 01 7a');
    expect(decoder.decode(again, 0, again.length).fault).not.toBe(null);
  });

  test('no value, one with a tab and bytes past ASCII are fields like any other', () => {
    expect(read(new HpackDecoder(65_536), block('x', '').toString('hex'))).toEqual(['x: ']);
    expect(read(new HpackDecoder(65_536), block('x', 'a\tb \xe9').toString('hex'))).toEqual(['x: a\tb \xe9']);
  });
});

describe('bounds', () => {
  test('a field of the table counts each time it is named', () => {
    const decoder = new HpackDecoder(65_536);
    const large = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0xa1, 0x1e]), Buffer.alloc(4000, 'y')]);
    const bomb = Buffer.concat([large, Buffer.alloc(4000, 0xbe)]);
    const { isTooLarge, names } = decoder.decode(bomb, 0, bomb.length);
    expect(isTooLarge).toBe(true);
    expect(names.length).toBeLessThan(20);
  });

  test('fields that are nearly nothing count too', () => {
    const many = Buffer.alloc(300, 0x82);
    const { isTooLarge, names } = new HpackDecoder(65_536).decode(many, 0, many.length);
    expect([isTooLarge, names.length]).toEqual([true, 256]);
  });
});

describe('what is written', () => {
  function write(encoder: HpackEncoder, names: string[], values: string[], status = 200): Buffer {
    const room = Buffer.alloc(encoder.measure(names, values));
    return room.subarray(0, encoder.write(room, 0, status, names, values));
  }

  test('is read back, and a field that comes again is one byte', () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(65_536);
    const names = ['content-type', 'x-odd', 'content-length'];
    const values = ['application/json', '\xe9', '17'];
    const lengths = [0, 0, 0].map(() => {
      const bytes = write(encoder, names, values);
      const block = decoder.decode(bytes, 0, bytes.length);
      expect(block).toEqual({
        names: [':status', ...names],
        values: ['200', ...values],
        fault: null,
        isTooLarge: false,
      });
      return bytes.length;
    });
    expect(lengths[2]).toBe(1 + names.length);
  });

  test.each(['authorization', 'set-cookie', 'x-api-key', 'x-auth-token'])('%s never goes into a table', (name) => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(65_536);
    for (let n = 0; n < 3; n++) {
      const bytes = write(encoder, [name], ['s3cret']);
      expect(bytes.includes('s3cret')).toBe(true);
      expect(bytes[1]! & 0xf0).toBe(0x10);
      decoder.decode(bytes, 0, bytes.length);
    }
    expect(faultOf(() => decoder.decode(bytesOf('be'), 0, 1))).toBe(errorCode.compression);
  });

  test('keeps to a table that was made smaller, and larger again', () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(65_536);
    const names = ['a', 'b', 'c'].map((name) => name.repeat(8));
    const values = names.map((name) => name.repeat(3));
    for (const size of [4096, 0, 100, 4096, 70, 65_536]) {
      encoder.limitTable(size);
      for (let n = 0; n < 4; n++) {
        const bytes = write(encoder, names, values);
        expect(decoder.decode(bytes, 0, bytes.length).values.slice(1)).toEqual(values);
      }
    }
  });

  test.each([
    ['a\nb', 'x'],
    ['X', 'x'],
    [':status', '200'],
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    ['http2-settings', 'x'],
    ['x', 'a\r\nb'],
    ['x', ' a'],
    ['x', 'snow \u2603'],
  ])('never has %j: %j', (name, value) => {
    expect(() => new HpackEncoder().measure([name], [value])).toThrow(UnwritableField);
  });

  test('has a field once that two readers would read in two ways, also after one that was not written', () => {
    const encoder = new HpackEncoder();
    for (let n = 0; n < 3; n++) {
      expect(() => write(encoder, ['etag', 'etag'], ['a', 'b'])).toThrow(UnwritableField);
      write(encoder, ['etag', 'set-cookie', 'set-cookie'], ['a', 'b', 'c']);
    }
  });
});
