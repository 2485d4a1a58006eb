import { describe, expect, test } from 'vitest';
import { Http1Error } from '../../../../src/protocols/http1/http1-error.ts';
import { parseRequestHead, type RequestHead } from '../../../../src/protocols/http1/request-head.ts';

const MAX = 16 * 1024;
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

function parse(text: string): RequestHead {
  const head = parseRequestHead(bytes(text), 0, MAX);
  if (head === null) throw new Error('the head is incomplete');
  return head;
}

function refusal(text: string, maxBytes = MAX): string {
  try {
    return parseRequestHead(bytes(text), 0, maxBytes) === null ? 'more bytes needed' : 'accepted';
  } catch (error) {
    if (error instanceof Http1Error) return error.code;
    throw error;
  }
}

const get = (fields: string): string => `GET / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`;
const post = (fields: string): string => `POST / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`;

describe('a request head is read as it was sent', () => {
  test('start line, fields in order and case, and where it ends', () => {
    const text = 'POST /v1/x?y=%20z HTTP/1.1\r\nHost: a.example\r\nX-B:  two words\t \r\nx-b:\r\nCaf: \xe9\tz\r\n\r\n';
    const head = parseRequestHead(bytes(`skip${text}rest`), 4, MAX)!;
    expect(head.method).toBe('POST');
    expect(head.target).toBe('/v1/x?y=%20z');
    expect(head.version).toBe('1.1');
    expect(head.names).toEqual(['Host', 'X-B', 'x-b', 'Caf']);
    expect(head.keys).toEqual(['host', 'x-b', 'x-b', 'caf']);
    expect(head.values).toEqual(['a.example', 'two words', '', '\xe9\tz']);
    expect(head.headEnd).toBe(4 + text.length);
  });

  test('the same name in another case keeps its own case, however often it has been seen', () => {
    for (const name of ['X-Case', 'x-case', 'X-CASE', 'X-Case']) {
      const head = parse(get(`${name}: 1\r\n`));
      expect([head.names[1], head.keys[1]]).toEqual([name, 'x-case']);
    }
  });

  test('thousands of different names are all told apart', () => {
    for (let i = 0; i < 5000; i++) expect(parse(get(`X-Name-${i}: 1\r\n`)).names[1]).toBe(`X-Name-${i}`);
  });

  test.each([
    ['no length field', get(''), { kind: 'none' }],
    ['Content-Length', post('Content-Length: 12\r\n'), { kind: 'length', bytes: 12 }],
    ['a Content-Length of nought', post('Content-Length: 0\r\n'), { kind: 'length', bytes: 0 }],
    ['the largest length', post('content-length:9007199254740991\r\n'), { kind: 'length', bytes: 2 ** 53 - 1 }],
    ['chunked', post('Transfer-Encoding: chunked\r\n'), { kind: 'chunked' }],
    ['chunked in capitals', post('TRANSFER-ENCODING:   Chunked\r\n'), { kind: 'chunked' }],
    [
      'an upgrade with a body',
      post('Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n'),
      { kind: 'length', bytes: 2 },
    ],
    [
      'CONNECT with a length of nought',
      'CONNECT a:1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n',
      { kind: 'length', bytes: 0 },
    ],
  ])('framing by %s', (_, text, framing) => {
    expect(parse(text).framing).toEqual(framing);
  });

  test.each([
    ['HTTP/1.1', get(''), true],
    ['HTTP/1.1 with close', get('Connection: close\r\n'), false],
    ['close in a list, in capitals', get('Connection: x, \tCLOSE ,\r\n'), false],
    ['close on a second line', get('Connection: keep-alive\r\nConnection: close\r\n'), false],
    ['a word that only contains close', get('Connection: closed\r\n'), true],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', false],
    ['HTTP/1.0 with keep-alive', 'GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n', true],
    ['HTTP/1.0 with both', 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n', false],
  ])('keep-alive of %s', (_, text, keepAlive) => {
    expect(parse(text).keepAlive).toBe(keepAlive);
  });

  test.each([
    ['named by Connection', get('Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n'), 'websocket'],
    ['not named by Connection', get('Upgrade: websocket\r\n'), null],
    ['named but missing', get('Connection: upgrade\r\n'), null],
    ['in HTTP/1.0', 'GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', null],
  ])('an upgrade %s', (_, text, upgrade) => {
    expect(parse(text).upgrade).toBe(upgrade);
  });

  test.each([
    ['100-continue', post('Expect: 100-Continue\r\n'), true, null],
    ['something else', post('Expect: 200-maybe\r\n'), false, '200-maybe'],
    ['two expectations', post('Expect: 100-continue\r\nExpect: x\r\n'), false, '100-continue, x'],
    ['nothing', post(''), false, null],
    ['100-continue in HTTP/1.0', 'POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n', false, null],
  ])('Expect with %s', (_, text, expectsContinue, expectation) => {
    expect(parse(text)).toMatchObject({ expectsContinue, expectation });
  });
});

describe('what could be read in two ways is refused', () => {
  const syntax = 'malformed.syntax';
  const framing = 'malformed.framing';
  const version = 'malformed.version';

  test.each([
    // lines
    ['a bare LF after the request line', 'GET / HTTP/1.1\nHost: a\r\n\r\n', syntax],
    ['a bare LF after a field', get('X: a\nY: b\r\n'), syntax],
    ['a bare LF as the blank line', 'GET / HTTP/1.1\r\nHost: a\r\n\n', syntax],
    ['a bare CR in a value', get('X: a\rY: b\r\n'), syntax],
    ['a bare CR as the blank line', 'GET / HTTP/1.1\r\nHost: a\r\n\rX', syntax],
    ['an empty line before the request', '\r\nGET / HTTP/1.1\r\n\r\n', syntax],
    ['a folded line', get('X: a\r\n b\r\n'), syntax],
    ['a folded line by tab', get('X: a\r\n\tb\r\n'), syntax],
    ['white space before the first field', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n', syntax],
    // names and values
    ['a space before the colon', get('Content-Length : 3\r\n'), syntax],
    ['a tab before the colon', get('Transfer-Encoding\t: chunked\r\n'), syntax],
    ['a vertical tab in a name', get('Transfer-Encoding\x0b: chunked\r\n'), syntax],
    ['an empty name', get(': a\r\n'), syntax],
    ['a line without a colon', get('Host\r\n'), syntax],
    ['a NUL in a name', get('X\0: a\r\n'), syntax],
    ['a byte above ASCII in a name', get('X\xe9: a\r\n'), syntax],
    ['a parenthesis in a name', get('X(: a\r\n'), syntax],
    ['a NUL in a value', get('X: a\0b\r\n'), syntax],
    ['a vertical tab in a value', get('Transfer-Encoding: \x0bchunked\r\n'), syntax],
    ['a DEL in a value', get('X: a\x7fb\r\n'), syntax],
    // the request line
    ['no method', ' / HTTP/1.1\r\n\r\n', syntax],
    ['a method that is not a token', 'GE(T / HTTP/1.1\r\n\r\n', syntax],
    ['two spaces before the target', 'GET  / HTTP/1.1\r\n\r\n', syntax],
    ['two spaces after the target', 'GET /  HTTP/1.1\r\n\r\n', syntax],
    ['a tab for a space', 'GET\t/ HTTP/1.1\r\n\r\n', syntax],
    ['a space in the target', 'GET /a b HTTP/1.1\r\n\r\n', syntax],
    ['a target above ASCII', 'GET /\xe9 HTTP/1.1\r\n\r\n', syntax],
    ['a NUL in the target', 'GET /\0 HTTP/1.1\r\n\r\n', syntax],
    ['no version (HTTP/0.9)', 'GET /\r\n', syntax],
    ['a space after the version', 'GET / HTTP/1.1 \r\n\r\n', syntax],
    ['a version in lower case', 'GET / http/1.1\r\n\r\n', syntax],
    ['a version without a minor number', 'GET / HTTP/1\r\n\r\n', syntax],
    ['another byte for the CR of the request line', 'GET / HTTP/1.1X\nHost: a\r\n\r\n', syntax],
    ['another byte for the LF of the request line', 'GET / HTTP/1.1\rXHost: a\r\n\r\n', syntax],
    ['a version without its dot', 'GET / HTTP/1x1\r\n\r\n', version],
    ['a version of more digits', 'GET / HTTP/1.10\r\n\r\n', syntax],
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\n', version],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\n\r\n', version],
    ['HTTP/0.9', 'GET / HTTP/0.9\r\n\r\n', version],
    ['the beginning of TLS', '\x16\x03\x01', syntax],
    // framing
    ['Content-Length twice', post('Content-Length: 3\r\nContent-Length: 4\r\n'), framing],
    ['Content-Length twice, the same', post('Content-Length: 3\r\ncontent-length: 3\r\n'), framing],
    ['Content-Length as a list', post('Content-Length: 3, 3\r\n'), framing],
    ['Content-Length with a sign', post('Content-Length: +3\r\n'), framing],
    ['a negative Content-Length', post('Content-Length: -1\r\n'), framing],
    ['Content-Length in hexadecimal', post('Content-Length: 0x3\r\n'), framing],
    ['Content-Length with a space inside', post('Content-Length: 3 3\r\n'), framing],
    ['Content-Length with a nought before it', post('Content-Length: 010\r\n'), framing],
    ['an empty Content-Length', post('Content-Length:\r\n'), framing],
    ['Content-Length with a fraction', post('Content-Length: 3.0\r\n'), framing],
    ['Content-Length past 2^53-1', post('Content-Length: 9007199254740992\r\n'), framing],
    ['a Content-Length that overflows 64 bits', post('Content-Length: 18446744073709551619\r\n'), framing],
    ['Content-Length followed by a tab', post('Content-Length: 3\t\r\n'), framing],
    ['Content-Length and Transfer-Encoding', post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'), framing],
    ['Transfer-Encoding and Content-Length', post('Transfer-Encoding: chunked\r\nContent-Length: 0\r\n'), framing],
    ['Transfer-Encoding twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'), framing],
    ['Transfer-Encoding with another coding', post('Transfer-Encoding: gzip, chunked\r\n'), framing],
    ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n'), framing],
    ['chunked not last', post('Transfer-Encoding: chunked, identity\r\n'), framing],
    ['identity', post('Transfer-Encoding: identity\r\n'), framing],
    ['an empty Transfer-Encoding', post('Transfer-Encoding:\r\n'), framing],
    ['a word that begins with chunked', post('Transfer-Encoding: chunkedx\r\n'), framing],
    ['chunked in quotes', post('Transfer-Encoding: "chunked"\r\n'), framing],
    ['chunked with a parameter', post('Transfer-Encoding: chunked;q=1\r\n'), framing],
    ['chunked followed by a tab', post('Transfer-Encoding: chunked\t\r\n'), framing],
    ['chunked after a tab', post('Transfer-Encoding:\tchunked\r\n'), framing],
    ['chunked followed by a space', post('Transfer-Encoding: chunked \r\n'), framing],
    ['Transfer-Encoding in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', framing],
    ['Transfer_Encoding', post('Transfer_Encoding: chunked\r\n'), framing],
    ['CONTENT_LENGTH', post('CONTENT_LENGTH: 3\r\n'), framing],
    ['CONNECT with a length', 'CONNECT a:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\n', framing],
    ['CONNECT with chunks', 'CONNECT a:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n', framing],
  ])('%s', (_, text, code) => {
    expect(refusal(text)).toBe(code);
  });
});

describe('a head is refused as early as it can be', () => {
  test.each([
    ['a bad first byte', '\0'],
    ['a line end inside the method', 'GE\r'],
    ['a bad byte in the target', 'GET /\x01'],
    ['something other than HTTP/ as protocol', 'GET / HTX'],
    ['a bad byte in a name', 'GET / HTTP/1.1\r\nHo '],
    ['a bad byte in a value', 'GET / HTTP/1.1\r\nHost: a\0'],
    ['a bare LF', 'GET / HTTP/1.1\r\nHost: a\n'],
    ['a CR that is not followed by LF', 'GET / HTTP/1.1\r\nHost: a\rb'],
  ])('%s does not wait for the blank line', (_, text) => {
    expect(refusal(text)).toBe('malformed.syntax');
    expect(refusal(text.slice(0, -1))).toBe('more bytes needed');
  });

  test('another version does not wait either', () => {
    expect(refusal('GET / HTTP/2')).toBe('malformed.version');
  });

  test('every proper beginning of a good head asks for more, and the whole is then read', () => {
    const text = post('Content-Length: 3\r\nX-Y: z\r\n');
    for (let end = 0; end < text.length; end++) expect(refusal(text.slice(0, end))).toBe('more bytes needed');
    expect(refusal(text)).toBe('accepted');
  });
});

describe('a head is bounded', () => {
  const text = get('X: y\r\n');

  test('one of exactly the limit passes, one byte more does not', () => {
    expect(refusal(text, text.length)).toBe('accepted');
    expect(refusal(text, text.length - 1)).toBe('limit.head-size');
  });

  test('the limit counts from where the head begins', () => {
    const later = bytes(`${text}${text}`);
    expect(parseRequestHead(later, text.length, text.length)?.headEnd).toBe(2 * text.length);
  });

  test.each(['G', 'GET /', 'GET / HTTP/1.1\r\nX', 'GET / HTTP/1.1\r\nX: '])(
    'endless bytes after %j are cut off',
    (begin) => {
      expect(refusal(begin.padEnd(99, 'a'), 100)).toBe('more bytes needed');
      expect(refusal(begin.padEnd(100, 'a'), 100)).toBe('limit.head-size');
    },
  );

  test('256 fields pass, 257 do not', () => {
    const many = (count: number): string => `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(count)}\r\n`;
    expect(parse(many(256)).names.length).toBe(256);
    expect(refusal(many(257))).toBe('limit.head-size');
  });

  test('a refusal never repeats the bytes it refuses', () => {
    const secret = 'sk-very-secret';
    try {
      parse(get(`Authorization: Bearer ${secret}\0\r\n`));
    } catch (error) {
      expect(String(error)).not.toContain(secret);
      return;
    }
    expect.unreachable('the NUL was accepted');
  });
});
