import { describe, expect, test } from 'vitest';
import { Http1Error } from '../../../../src/protocols/http1/http1-error.ts';
import { type ParsedResponseHead, parseResponseHead } from '../../../../src/protocols/http1/response-head.ts';

const MAX = 16 * 1024;
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

function parse(text: string, requestMethod = 'GET'): ParsedResponseHead {
  const head = parseResponseHead(bytes(text), 0, MAX, requestMethod);
  if (head === null) throw new Error('the head is incomplete');
  return head;
}

function refusal(text: string, maxBytes = MAX): string {
  try {
    return parseResponseHead(bytes(text), 0, maxBytes, 'GET') === null ? 'more bytes needed' : 'accepted';
  } catch (error) {
    if (error instanceof Http1Error) return error.code;
    throw error;
  }
}

const ok = (fields: string): string => `HTTP/1.1 200 OK\r\n${fields}\r\n`;
const answer = (status: string, fields = ''): string => `HTTP/1.1 ${status}\r\n${fields}\r\n`;

describe('the head of an answer is read as it was sent', () => {
  test('status line, fields, and where it ends', () => {
    const text = answer('404 Not  Found \xe9', 'Server: x\r\nSet-Cookie: a\r\nset-cookie: b\r\n');
    const head = parseResponseHead(bytes(`${text}body`), 0, MAX, 'GET')!;
    expect(head).toMatchObject({ version: '1.1', status: 404, reason: 'Not  Found \xe9', headEnd: text.length });
    expect(head.names).toEqual(['Server', 'Set-Cookie', 'set-cookie']);
    expect(head.keys).toEqual(['server', 'set-cookie', 'set-cookie']);
    expect(head.values).toEqual(['x', 'a', 'b']);
  });

  test.each([
    ['an empty reason', '200 '],
    ['no reason and no space', '200'],
  ])('%s', (_, status) => {
    expect(parse(answer(status, 'Content-Length: 0\r\n'))).toMatchObject({ status: 200, reason: '' });
  });

  const none = { kind: 'none' };
  const untilClose = { kind: 'until-close' };
  test.each([
    ['a length', 'GET', ok('Content-Length: 5\r\n'), { kind: 'length', bytes: 5 }, true],
    ['a length of nought', 'GET', ok('Content-Length: 0\r\n'), { kind: 'length', bytes: 0 }, true],
    ['chunks', 'GET', ok('Transfer-Encoding: chunked\r\n'), { kind: 'chunked' }, true],
    ['chunks and close', 'GET', ok('Connection: close\r\nTransfer-Encoding: chunked\r\n'), { kind: 'chunked' }, false],
    ['neither', 'GET', ok(''), untilClose, false],
    ['neither, though keep-alive is claimed', 'GET', ok('Connection: keep-alive\r\n'), untilClose, false],
    [
      'HTTP/1.0 with a length',
      'GET',
      'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n',
      { kind: 'length', bytes: 5 },
      false,
    ],
    ['an answer to HEAD', 'HEAD', ok('Content-Length: 5\r\n'), none, true],
    ['an answer to HEAD with chunks', 'HEAD', ok('Transfer-Encoding: chunked\r\n'), none, true],
    ['304 with a length', 'GET', answer('304 Not Modified', 'Content-Length: 5\r\n'), none, true],
    ['204', 'GET', answer('204 No Content'), none, true],
    ['204 with a length of nought', 'GET', answer('204 No Content', 'Content-Length: 0\r\n'), none, true],
    ['204 that announces a body', 'GET', answer('204 No Content', 'Content-Length: 5\r\n'), none, false],
    ['204 that announces chunks', 'GET', answer('204 No Content', 'Transfer-Encoding: chunked\r\n'), none, false],
    ['100', 'POST', answer('100 Continue'), none, true],
    ['103', 'GET', answer('103 Early Hints', 'Link: x\r\n'), none, true],
    [
      '101',
      'GET',
      answer('101 Switching Protocols', 'Connection: upgrade\r\nUpgrade: websocket\r\n'),
      untilClose,
      false,
    ],
    ['a tunnel that was opened', 'CONNECT', ok('Content-Length: 5\r\n'), untilClose, false],
    [
      'a tunnel that was refused',
      'CONNECT',
      answer('403 No', 'Content-Length: 5\r\n'),
      { kind: 'length', bytes: 5 },
      true,
    ],
  ])('framing and keep-alive of %s', (_, method, text, framing, keepAlive) => {
    expect(parse(text, method)).toMatchObject({ framing, keepAlive });
  });

  test('the Content-Length of an answer without a body stays in its fields', () => {
    expect(parse(ok('Content-Length: 5\r\n'), 'HEAD').values).toEqual(['5']);
  });

  test('an upgrade counts only when Connection names it', () => {
    expect(parse(answer('101 x', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')).upgrade).toBe('websocket');
    expect(parse(answer('101 x', 'Upgrade: websocket\r\n')).upgrade).toBeNull();
  });
});

describe('an answer that could be read in two ways is refused', () => {
  const syntax = 'malformed.syntax';
  const framing = 'malformed.framing';
  const version = 'malformed.version';

  test.each([
    ['a bare LF after the status line', 'HTTP/1.1 200 OK\nX: y\r\n\r\n', syntax],
    ['a bare CR in the reason', 'HTTP/1.1 200 O\rK\r\n\r\n', syntax],
    ['a NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n', syntax],
    ['another byte for the CR of the status line', 'HTTP/1.1 200 O\0\nX: y\r\n\r\n', syntax],
    ['another byte for the space before the status', 'HTTP/1.1-200 OK\r\n\r\n', syntax],
    ['a status of two digits', answer('20 OK'), syntax],
    ['a status of four digits', answer('2000 OK'), syntax],
    ['a status below 100', answer('099 OK'), syntax],
    ['a signed status', answer('+20 OK'), syntax],
    ['two spaces before the status', answer(' 200 OK'), syntax],
    ['an empty line before the answer', '\r\nHTTP/1.1 200 OK\r\n\r\n', syntax],
    ['another protocol', 'ICY 200 OK\r\n\r\n', syntax],
    ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n', version],
    ['a folded line', ok('X: a\r\n b\r\n'), syntax],
    ['a space before the colon', ok('Content-Length : 5\r\n'), syntax],
    ['Content-Length twice', ok('Content-Length: 5\r\nContent-Length: 5\r\n'), framing],
    ['Content-Length and Transfer-Encoding', ok('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'), framing],
    ['another coding', ok('Transfer-Encoding: gzip, chunked\r\n'), framing],
    ['chunked followed by a tab', ok('Transfer-Encoding: chunked\t\r\n'), framing],
    ['Transfer-Encoding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', framing],
    ['100 with a length', answer('100 Continue', 'Content-Length: 5\r\n'), framing],
    ['101 with chunks', answer('101 x', 'Transfer-Encoding: chunked\r\n'), framing],
    ['Content_Length', ok('Content_Length: 5\r\n'), framing],
  ])('%s', (_, text, code) => {
    expect(refusal(text)).toBe(code);
  });

  test('framing is checked even where there is no body', () => {
    const twice = ok('Content-Length: 5\r\nContent-Length: 6\r\n');
    expect(() => parseResponseHead(bytes(twice), 0, MAX, 'HEAD')).toThrow(Http1Error);
  });
});

describe('the head of an answer is bounded and refused early', () => {
  test('a bad byte does not wait for the blank line', () => {
    expect(refusal('HTTQ')).toBe('malformed.syntax');
    expect(refusal('HTTP/1.1 2x')).toBe('malformed.syntax');
    expect(refusal('HTTP/1.1 200 OK\r\nX: \0')).toBe('malformed.syntax');
  });

  test('every proper beginning of a good head asks for more', () => {
    const text = ok('Content-Length: 5\r\n');
    for (let end = 0; end < text.length; end++) expect(refusal(text.slice(0, end))).toBe('more bytes needed');
  });

  test('an endless head is cut off at the limit', () => {
    const text = ok('X: y\r\n');
    expect(refusal(text, text.length)).toBe('accepted');
    expect(refusal(text, text.length - 1)).toBe('limit.head-size');
    expect(refusal('HTTP/1.1 200 '.padEnd(100, 'a'), 100)).toBe('limit.head-size');
  });
});
