import { describe, expect, test } from 'vitest';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { encodePkt, flushPkt, MAX_PKT_PAYLOAD, type Pkt, PktReader } from '../../../../src/protocols/git/pkt-line.ts';

const data = (text: string): Pkt => ({ kind: 'data', payload: Buffer.from(text) });
const refusal = (bytes: string, dialect: 'v0' | 'v2' = 'v0'): string => {
  try {
    new PktReader(dialect).feed(Buffer.from(bytes, 'latin1'));
  } catch (error) {
    if (error instanceof GitWireError) return error.code;
    throw error;
  }
  return 'accepted';
};

describe('a pkt-line is read in exactly one way', () => {
  test('lines, empty lines and flushes come out as they stand', () => {
    expect(new PktReader().feed(Buffer.from('0006a\n000400000005b'))).toEqual([
      data('a\n'),
      data(''),
      { kind: 'flush' },
      data('b'),
    ]);
  });

  test('every cut of a stream gives the same lines', () => {
    const stream = Buffer.concat([encodePkt('first'), encodePkt(''), flushPkt, encodePkt('x'.repeat(300))]);
    const whole = new PktReader().feed(stream);
    for (let cut = 0; cut <= stream.length; cut++) {
      const reader = new PktReader();
      expect([...reader.feed(stream.subarray(0, cut)), ...reader.feed(stream.subarray(cut))]).toEqual(whole);
    }
    const reader = new PktReader();
    expect(Array.from(stream, (_, i) => reader.feed(stream.subarray(i, i + 1))).flat()).toEqual(whole);
  });

  test('what is not yet a line can be taken back, wherever the stream was cut', () => {
    const stream = Buffer.from('0009helloPACK');
    for (let cut = 0; cut <= 9; cut++) {
      const reader = new PktReader();
      reader.add(stream.subarray(0, cut));
      if (cut < 9) expect(reader.next()).toBeNull();
      expect(reader.rest()).toEqual(stream.subarray(0, cut));
      reader.add(stream.subarray(cut));
      expect(reader.next()).toEqual(data('hello'));
      expect(reader.rest().toString()).toBe('PACK');
    }
  });

  test('a length in upper case is what git accepts too', () => {
    expect(new PktReader().feed(Buffer.from('000Aabcdef'))).toEqual([data('abcdef')]);
  });

  test.each(['0003', '000g', ' 004', '-001', '+004', '0x04', '0001', '0002', 'PACK', 'fff1', 'ffff'])(
    'the length %s is refused',
    (length) => {
      expect(refusal(length)).toBe('malformed');
    },
  );

  test('a delimiter and a response end exist in version 2 alone', () => {
    expect(new PktReader('v2').feed(Buffer.from('00010002'))).toEqual([{ kind: 'delim' }, { kind: 'response-end' }]);
    expect(refusal('0003', 'v2')).toBe('malformed');
  });

  test('the longest line passes, and one byte more is refused', () => {
    const longest = encodePkt('a'.repeat(MAX_PKT_PAYLOAD));
    expect(longest.subarray(0, 4).toString()).toBe('fff0');
    expect(new PktReader().feed(longest)).toHaveLength(1);
    expect(() => encodePkt('a'.repeat(MAX_PKT_PAYLOAD + 1))).toThrow(GitWireError);
  });

  test('a reader that has lost its place never finds it again', () => {
    for (const length of ['zzzz', '00z', '0003', '0001', 'fff1']) {
      const reader = new PktReader();
      expect(() => reader.feed(Buffer.from(length))).toThrow(GitWireError);
      expect(() => reader.feed(Buffer.from('0000'))).toThrow(GitWireError);
    }
  });
});
