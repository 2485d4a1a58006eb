import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  closeFrame,
  type FrameHead,
  FrameReader,
  serverFrameHead,
  UnreadableFrame,
} from '../../../../src/protocols/websocket/websocket-frames.ts';

interface Seen {
  readonly log: string[];
  /** Everything that was handed out as it came. */
  readonly raw: Buffer;
}

function read(sender: 'client' | 'server', bytes: Buffer, sizes: readonly number[] = [], mayDeflate = false): Seen {
  const log: string[] = [];
  const raw: Buffer[] = [];
  let content: Buffer[] = [];
  const reader = new FrameReader(sender, mayDeflate, {
    onHead: (head) => {
      raw.push(head.bytes);
      content = [];
    },
    onContent: (part, came) => {
      expect(part.length).toBeGreaterThan(0);
      content.push(part);
      raw.push(came);
    },
    onEnd: (head) => {
      const marks = [head.isFinal ? 'final' : 'more', ...(head.isDeflated ? ['deflated'] : [])].join(' ');
      log.push(`${head.opcode} ${marks} ${Buffer.concat(content).toString('latin1')}`);
    },
  });
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    reader.feed(Buffer.from(bytes.subarray(at, at + size)));
    at = Math.min(bytes.length, at + size);
  }
  return { log, raw: Buffer.concat(raw) };
}

function masked(first: number, content: Buffer, mask: readonly number[]): Buffer {
  const head = Buffer.from(serverFrameHead(0, false, content.length));
  head[0] = first;
  head[1]! |= 0x80;
  return Buffer.concat([head, Buffer.from(mask), content.map((byte, i) => byte ^ mask[i & 3]!)]);
}

describe('frames of a WebSocket', () => {
  test('of either side, of any length, in any pieces, are read as they were written', () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 130 }),
      fc.constantFrom(125, 126, 127, 65_535, 65_536).map((size) => new Uint8Array(size).fill(0x61)),
    );
    const mask = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 40 });
    fc.assert(
      fc.property(content, content, mask, sizes, fc.boolean(), (one, two, key, pieces, isClient) => {
        const write = (first: number, bytes: Uint8Array): Buffer =>
          isClient
            ? masked(first, Buffer.from(bytes), key)
            : Buffer.concat([serverFrameHead(first & 0x0f, (first & 0x80) !== 0, bytes.length), bytes]);
        const bytes = Buffer.concat([write(0x01, one), write(0x89, Buffer.from('hi')), write(0x80, two)]);
        const seen = read(isClient ? 'client' : 'server', bytes, pieces);
        const text = (part: Uint8Array): string => Buffer.from(part).toString('latin1');
        expect(seen.log).toEqual([`1 more ${text(one)}`, '9 final hi', `0 final ${text(two)}`]);
        expect(seen.raw.equals(bytes)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  test('all frames of a compressed message are known as such, and no others', () => {
    const bytes = Buffer.from([0x41, 1, 0x61, 0x89, 0, 0x80, 1, 0x62, 0x81, 1, 0x63]);
    expect(read('server', bytes, [], true).log).toEqual([
      '1 more deflated a',
      '9 final ',
      '0 final deflated b',
      '1 final c',
    ]);
  });

  test('where a message begins and ends is known', () => {
    const reader = new FrameReader('server', false, { onHead: () => {}, onContent: () => {}, onEnd: () => {} });
    const states: boolean[] = [];
    for (const byte of [0x01, 0x00, 0x80, 0x01, 0x61]) {
      reader.feed(Buffer.from([byte]));
      states.push(reader.isBetweenMessages);
    }
    expect(states).toEqual([false, false, false, false, true]);
  });

  const bad: [string, 'client' | 'server', number[]][] = [
    ['a mask of a server', 'server', [0x81, 0x80, 0, 0, 0, 0]],
    ['no mask of a client', 'client', [0x81, 0x01]],
    ['compression that was not agreed on', 'server', [0xc1, 0x00]],
    ['another extension', 'server', [0xa1, 0x00]],
    ['an opcode that nobody knows', 'server', [0x83, 0x00]],
    ['a control opcode that nobody knows', 'server', [0x8b, 0x00]],
    ['a control frame in parts', 'server', [0x09, 0x00]],
    ['a control frame that is too long', 'server', [0x89, 126, 0, 126]],
    ['a continuation of nothing', 'server', [0x80, 0x00]],
    ['a message inside another', 'server', [0x01, 0x00, 0x81, 0x00]],
    ['a length beyond any', 'server', [0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]],
  ];
  test.each(bad)('%s is refused', (_what, sender, bytes) => {
    expect(() => read(sender, Buffer.from(bytes))).toThrow(UnreadableFrame);
  });

  test.each([
    ['a continuation that is marked', [0x41, 0x00, 0xc0, 0x00]],
    ['a control frame that is marked', [0xc9, 0x00]],
  ])('with compression agreed on, %s is refused', (_what, bytes) => {
    expect(() => read('server', Buffer.from(bytes), [], true)).toThrow(UnreadableFrame);
  });

  test('a head is handed out as it came, also when it came byte by byte', () => {
    const heads: FrameHead[] = [];
    const reader = new FrameReader('client', false, {
      onHead: (head) => heads.push(head),
      onContent: () => {},
      onEnd: () => {},
    });
    const bytes = masked(0x82, Buffer.alloc(300), [1, 2, 3, 4]);
    for (const byte of bytes) reader.feed(Buffer.from([byte]));
    expect(heads).toHaveLength(1);
    expect(heads[0]).toMatchObject({ opcode: 2, isFinal: true, contentBytes: 300 });
    expect(heads[0]!.bytes.equals(bytes.subarray(0, 8))).toBe(true);
  });
});

describe('the last frame of one side', () => {
  test('carries its code and as much of the reason as has room, never half a character', () => {
    expect(read('server', closeFrame(1002, 'why')).log).toEqual(['8 final \x03\xeawhy']);
    expect(read('server', closeFrame(1008, '')).log).toEqual(['8 final \x03\xf0']);
    const long = closeFrame(1008, 'é'.repeat(100));
    expect(long.subarray(4).toString()).toBe('é'.repeat(61));
    expect(closeFrame(1008, 'x'.repeat(200)).length).toBe(2 + 125);
  });

  test('is masked where a client says it', () => {
    expect(read('client', closeFrame(1002, 'why', Buffer.from([9, 8, 7, 6]))).log).toEqual(['8 final \x03\xeawhy']);
  });

  test('stands between frames: not inside one, but inside a message', () => {
    const reader = new FrameReader('server', false, {});
    const at = (bytes: number[]): boolean => {
      reader.feed(Buffer.from(bytes));
      return reader.isBetweenFrames;
    };
    expect([at([0x01]), at([0x02, 0x61]), at([0x62]), at([0x80, 0x00])]).toEqual([false, false, true, true]);
  });
});
