import { describe, expect, test } from 'vitest';
import { BodyReader } from '../../../../src/protocols/http1/body-reader.ts';
import { Http1Error } from '../../../../src/protocols/http1/http1-error.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const chunkedReader = (): BodyReader => new BodyReader({ kind: 'chunked' });

function payloadOf(reader: BodyReader, text: string, start = 0): { payload: string; end: number } {
  let payload = '';
  const end = reader.feedPayload(bytes(text), start, (slice) => {
    payload += slice.toString('latin1');
  });
  return { payload, end };
}

function refusal(text: string): string {
  try {
    const end = chunkedReader().feedWire(bytes(text), 0);
    return end < 0 ? 'goes on' : `ends at ${end}`;
  } catch (error) {
    if (error instanceof Http1Error) return error.code;
    throw error;
  }
}

describe('a body ends where its framing says', () => {
  test('no body ends at once', () => {
    const reader = new BodyReader({ kind: 'none' });
    expect(reader.done).toBe(true);
    expect(reader.feedWire(bytes('GET / HTTP/1.1'), 3)).toBe(3);
    expect(reader.payloadBytes).toBe(0);
  });

  test('a length of nought ends at once', () => {
    expect(new BodyReader({ kind: 'length', bytes: 0 }).done).toBe(true);
  });

  test('a length counts over buffers and stops before the next message', () => {
    const reader = new BodyReader({ kind: 'length', bytes: 10 });
    expect(payloadOf(reader, 'headabcd', 4)).toEqual({ payload: 'abcd', end: -1 });
    expect(reader.done).toBe(false);
    expect(payloadOf(reader, 'efghijGET')).toEqual({ payload: 'efghij', end: 6 });
    expect(reader.done).toBe(true);
    expect(reader.payloadBytes).toBe(10);
    expect(reader.feedWire(bytes('GET'), 0)).toBe(0);
  });

  test('until-close never ends by itself', () => {
    const reader = new BodyReader({ kind: 'until-close' });
    expect(payloadOf(reader, 'xxabc', 2)).toEqual({ payload: 'abc', end: -1 });
    expect(reader.feedWire(bytes('de'), 0)).toBe(-1);
    expect(reader.payloadBytes).toBe(5);
    expect(reader.done).toBe(false);
  });

  test('a buffer that is all content is handed on as it is', () => {
    const buf = bytes('abcdef');
    const slices: Buffer[] = [];
    new BodyReader({ kind: 'length', bytes: 100 }).feedPayload(buf, 0, (slice) => slices.push(slice));
    expect(slices[0]).toBe(buf);
  });

  test('chunks are joined, and their framing removed', () => {
    const reader = chunkedReader();
    const text = '3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\nGET';
    expect(payloadOf(reader, text)).toEqual({ payload: 'abc0123456789', end: text.length - 3 });
    expect(reader.payloadBytes).toBe(13);
    expect(reader.trailers).toBeNull();
    expect(reader.done).toBe(true);
  });

  test('chunk data may look like anything', () => {
    const data = '0\r\n\r\nGET / HTTP/1.1\r\n\r\n\0';
    const reader = chunkedReader();
    expect(payloadOf(reader, `${data.length.toString(16)}\r\n${data}\r\n0\r\n\r\n`).payload).toBe(data);
  });

  test('a chunk larger than any buffer is skipped without being looked at', () => {
    const reader = chunkedReader();
    expect(reader.feedWire(bytes('fffffffffffff\r\n'), 0)).toBe(-1);
    expect(reader.feedWire(Buffer.alloc(1 << 20), 0)).toBe(-1);
    expect(reader.payloadBytes).toBe(1 << 20);
  });
});

describe('trailers are read and held to the rules of header fields', () => {
  test('they are handed out with their case', () => {
    const reader = chunkedReader();
    expect(payloadOf(reader, '0\r\nX-Sum: abc \r\ngrpc-status:0\r\n\r\nGET').end).toBe(33);
    expect(reader.trailers).toEqual({
      names: ['X-Sum', 'grpc-status'],
      keys: ['x-sum', 'grpc-status'],
      values: ['abc', '0'],
    });
  });

  test('they may be cut anywhere, also when the buffer is used again', () => {
    const text = '1\r\na\r\n0\r\nX-Sum: abc\r\nX-Other: d\r\n\r\n';
    const reader = chunkedReader();
    const buf = Buffer.alloc(1);
    let end = -1;
    for (const byte of bytes(text)) {
      buf[0] = byte;
      expect(end).toBe(-1);
      end = reader.feedWire(buf, 0);
    }
    expect(end).toBe(1);
    expect(reader.trailers?.values).toEqual(['abc', 'd']);
  });

  test('a section of 8 KiB passes and a larger one does not', () => {
    const section = (size: number): string => `0\r\nX: ${'a'.repeat(size - 'X: \r\n\r\n'.length)}\r\n\r\n`;
    expect(refusal(section(8192))).toBe(`ends at ${3 + 8192}`);
    expect(refusal(section(8193))).toBe('malformed.framing');
  });

  test.each([
    'Content-Length',
    'Transfer-Encoding',
    'Host',
    'Connection',
    'TE',
    'Trailer',
    'Expect',
    'Upgrade',
    'Authorization',
    'Proxy-Authorization',
    'Proxy-Anything',
    'Cookie',
    'Set-Cookie',
    'X-Api-Key',
    'X_Api_Key',
    'Api-Key',
    'X-Goog-Api-Key',
    'Content-Encoding',
    'Content-Type',
    'Content-Range',
    'Cache-Control',
    'Transfer_Encoding',
  ])('%s may not come after the body', (name) => {
    expect(refusal(`0\r\n${name}: 1\r\n\r\n`)).toBe('malformed.framing');
  });

  test.each([
    ['a bare LF', '0\r\nX: a\n\r\n'],
    ['a folded line', '0\r\nX: a\r\n b\r\n\r\n'],
    ['a space before the colon', '0\r\nX : a\r\n\r\n'],
    ['a control byte', '0\r\nX: \0'],
    ['the next request where the blank line should be', '0\r\nGET / HTTP/1.1\r\n\r\n'],
  ])('%s is refused', (_, text) => {
    expect(refusal(text)).toBe('malformed.syntax');
  });
});

describe('chunk framing that could be read in two ways is refused', () => {
  test.each([
    ['no size', '\r\nabc'],
    ['a size that is not hexadecimal', 'g\r\n'],
    ['a prefix', '0x3\r\nabc\r\n'],
    ['a sign', '+3\r\nabc\r\n'],
    ['a negative size', '-3\r\nabc\r\n'],
    ['a space before the size', ' 3\r\nabc\r\n'],
    ['a space after the size', '3 \r\nabc\r\n'],
    ['a tab after the size', '3\t\r\nabc\r\n'],
    ['fifteen digits', '000000000000003\r\n'],
    ['a size past 2^53-1', '20000000000000\r\n'],
    ['a size that overflows 64 bits', '10000000000000003\r\nabc\r\n'],
    ['a bare LF after the size', '3\nabc\r\n'],
    ['a bare CR after the size', '3\rabc\r\n'],
    ['data longer than the size', '3\r\nabcd\r\n'],
    ['data shorter than the size', '4\r\nabc\r\n0\r\n\r\n'],
    ['a bare LF after the data', '3\r\nabc\n0\r\n\r\n'],
    ['a CR and no LF after the data', '3\r\nabc\r0\r\n\r\n'],
    ['another byte for the CR after the data', '3\r\nabcX\n0\r\n\r\n'],
    ['another byte for the LF after the data', '3\r\nabc\rX0\r\n\r\n'],
    ['another byte for the LF after the size', '3\rXabc\r\n0\r\n\r\n'],
    ['an extension without a name', '3;\r\nabc\r\n'],
    ['an extension with a space', '3; a=b\r\nabc\r\n'],
    ['an extension with an empty value', '3;a=\r\nabc\r\n'],
    ['an extension that ends in a bare LF', '3;a\nabc\r\n'],
    ['an extension value that ends in a bare LF', '3;a=b\nabc\r\n'],
    ['a control byte in an extension', '3;a=\x01\r\nabc\r\n'],
    ['a line end in quotes', '3;a="b\r\n"\r\nabc\r\n'],
    ['a bare LF in quotes', '3;a="b\n"\r\nabc\r\n'],
    ['a NUL behind a backslash in quotes', '3;a="\\\0"\r\nabc\r\n'],
    ['text after the closing quote', '3;a="b"c\r\nabc\r\n'],
    ['a bare CR in an extension', '3;a\rX\r\nabc\r\n'],
  ])('%s', (_, text) => {
    expect(refusal(text)).toBe('malformed.framing');
  });

  test.each([';a', ';a=b', ';a="b;c\\"d"', ';a;b=c;d="e"', ';a="\t\xe9"'])(
    'the extension %j is well formed',
    (extension) => {
      expect(payloadOf(chunkedReader(), `3${extension}\r\nabc\r\n0\r\n\r\n`).payload).toBe('abc');
    },
  );

  test('sizes with leading noughts and up to fourteen digits are read', () => {
    expect(payloadOf(chunkedReader(), '00000000000003\r\nabc\r\n000\r\n\r\n').payload).toBe('abc');
  });

  test('a chunk line of 256 bytes passes and a longer one does not', () => {
    const line = (length: number): string => `3;${'a'.repeat(length - '3;\r\n'.length)}\r\nabc\r\n0\r\n\r\n`;
    expect(refusal(line(256))).toBe(`ends at ${line(256).length}`);
    expect(refusal(line(257))).toBe('malformed.framing');
  });

  test('extensions are bounded over the whole message', () => {
    const chunk = `1;${'a'.repeat(200)}\r\nx\r\n`;
    expect(refusal(chunk.repeat(80))).toBe('goes on');
    expect(refusal(chunk.repeat(90))).toBe('malformed.framing');
    expect(refusal('1\r\nx\r\n'.repeat(20_000))).toBe('goes on');
  });

  test('a body that was refused stays refused', () => {
    const reader = chunkedReader();
    expect(() => reader.feedWire(bytes('zz'), 0)).toThrow(Http1Error);
    expect(() => reader.feedWire(bytes('3\r\nabc\r\n0\r\n\r\n'), 0)).toThrow(Http1Error);
    expect(() => reader.feedWire(bytes('\r\n'), 0)).toThrow(Http1Error);
    expect(reader.done).toBe(false);
  });
});
