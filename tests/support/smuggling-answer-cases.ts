// Answers of a hostile far side that a client, or our own pool, could take for two answers, for another's, or for whole
// when they are not. Each is written as raw bytes; behind many stands a planted answer that nobody may ever get.

export interface AnswerCase {
  readonly name: string;
  readonly bytes: string;
  /** Method that it answers; default GET. */
  readonly method: string;
  /** The far side hangs up after it. */
  readonly closes: boolean;
  /**
   * `passed`: the client gets this one answer, with this body. `refused`: the client gets 502 and not a byte of it.
   * `broken`: it is broken off where it goes wrong, and never looks whole.
   */
  readonly verdict: 'passed' | 'refused' | 'broken';
  readonly status: number;
  /** The content, without framing. */
  readonly body: string;
}

type More = Partial<Pick<AnswerCase, 'method' | 'closes' | 'status' | 'body'>>;
type Row = readonly [name: string, verdict: AnswerCase['verdict'], bytes: string, more?: More];

const rows = (family: string, list: readonly Row[]): AnswerCase[] =>
  list.map(([name, verdict, bytes, more]) => ({
    name: `${family}: ${name}`,
    bytes,
    verdict,
    method: 'GET',
    closes: false,
    status: 200,
    body: '',
    ...more,
  }));

const ok = (...lines: string[]): string => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const planted = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted';
const chunked = ok('Transfer-Encoding: chunked');
const end = '0\r\n\r\n';
const first = 'Content-Length: 5';

export const answerCases: readonly AnswerCase[] = [
  ...rows('answer length', [
    ['two that differ', 'refused', `${ok(first, 'Content-Length: 50')}first${planted}`],
    ['two that agree', 'refused', `${ok(first, first)}first`],
    ['a list', 'refused', `${ok('Content-Length: 5, 5')}first`],
    ['a plus', 'refused', `${ok('Content-Length: +5')}first`],
    ['a minus', 'refused', `${ok('Content-Length: -5')}first`],
    ['hexadecimal', 'refused', `${ok('Content-Length: 0x5')}first`],
    ['a nought before it', 'refused', `${ok('Content-Length: 010')}first${planted}`],
    ['a space inside', 'refused', `${ok('Content-Length: 5 0')}first`],
    ['a space behind', 'refused', `${ok('Content-Length: 5 ')}first`],
    ['a tab before', 'refused', `${ok('Content-Length:\t5')}first`],
    ['nothing', 'refused', `${ok('Content-Length:')}${planted}`],
    ['letters', 'refused', `${ok('Content-Length: five')}first`],
    ['past 2^64', 'refused', `${ok('Content-Length: 18446744073709551621')}first`],
    ['an underscore in the name', 'refused', `${ok('Content_Length: 5')}first`],
    ['a space before the colon', 'refused', `${ok('Content-Length : 5')}first`],
    ['folded', 'refused', `${ok('Content-Length:\r\n 5')}first`],
    ['beside chunked', 'refused', `${ok(first, 'Transfer-Encoding: chunked')}${end}${planted}`],
    ['chunked beside it', 'refused', `${ok('Transfer-Encoding: chunked', first)}5\r\nfirst\r\n${end}`],
    ['longer than it says', 'passed', `${ok(first)}first${planted}`, { body: 'first' }],
    ['shorter than it says', 'broken', `${ok('Content-Length: 50')}first`, { closes: true }],
    ['nought, and more', 'passed', `${ok('Content-Length: 0')}${planted}`],
    ['an answer in its body', 'passed', `${ok(`Content-Length: ${planted.length}`)}${planted}`, { body: planted }],
  ]),
  ...rows('answer coding', [
    ['two', 'refused', `${ok('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}${end}`],
    ['a list', 'refused', `${ok('Transfer-Encoding: gzip, chunked')}${end}`],
    ['chunked that is not last', 'refused', `${ok('Transfer-Encoding: chunked, identity')}${end}${planted}`],
    ['xchunked', 'refused', `${ok('Transfer-Encoding: xchunked')}${end}${planted}`],
    ['identity', 'refused', `${ok('Transfer-Encoding: identity', first)}first`],
    ['quotes', 'refused', `${ok('Transfer-Encoding: "chunked"')}${end}`],
    ['a vertical tab', 'refused', `${ok('Transfer-Encoding: \x0bchunked')}${end}`],
    ['a tab', 'refused', `${ok('Transfer-Encoding:\tchunked')}${end}`],
    ['an underscore in the name', 'refused', `${ok('Transfer_Encoding: chunked')}${end}`],
    ['a space before the colon', 'refused', `${ok('Transfer-Encoding : chunked')}${end}`],
    ['in HTTP/1.0', 'refused', `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${end}`],
    ['bytes behind the last chunk', 'passed', `${chunked}5\r\nfirst\r\n${end}${planted}`, { body: 'first' }],
    ['the end of chunks in a chunk', 'passed', `${chunked}5\r\n${end}\r\n${end}`, { body: end }],
    ['in capitals', 'passed', `${ok('Transfer-Encoding: CHUNKED')}5\r\nfirst\r\n${end}`, { body: 'first' }],
  ]),
  ...rows('answer chunk', [
    ['a size with 0x', 'broken', `${chunked}0x5\r\nfirst\r\n${end}`],
    ['a negative size', 'broken', `${chunked}-5\r\nfirst\r\n${end}`],
    ['a size with a space', 'broken', `${chunked}5 \r\nfirst\r\n${end}`],
    ['a size that overflows', 'broken', `${chunked}10000000000000005\r\nfirst\r\n${end}`],
    ['a size line that ends in LF', 'broken', `${chunked}5\nfirst\r\n${end}`],
    ['data that ends in LF', 'broken', `${chunked}5\r\nfirst\n${end}`],
    ['data longer than its size', 'broken', `${chunked}5\r\nfirstly\r\n${end}`],
    ['an extension with an LF', 'broken', `${chunked}5;a\nb\r\nfirst\r\n${end}`],
    ['a last chunk that ends in LF', 'broken', `${chunked}0\n\n${planted}`],
    ['no blank line at the end', 'broken', `${chunked}5\r\nfirst\r\n0\r\n${planted}`],
    ['no last chunk', 'broken', `${chunked}5\r\nfirst\r\n`, { closes: true }],
    ['a trailer named Content-Length', 'broken', `${chunked}0\r\nContent-Length: 5\r\n\r\n${planted}`],
    ['a trailer named Set-Cookie', 'broken', `${chunked}0\r\nSet-Cookie: a=b\r\n\r\n`],
    ['a trailer that is folded', 'broken', `${chunked}0\r\nX: y\r\n z\r\n\r\n`],
    ['a trailer with a NUL', 'broken', `${chunked}0\r\nX: \0\r\n\r\n`],
  ]),
  ...rows('answer head', [
    ['LF everywhere', 'refused', `HTTP/1.1 200 OK\nContent-Length: 5\n\nfirst`],
    ['a bare LF in a value', 'refused', `${ok('X: y\nContent-Length: 0', first)}first`],
    ['a bare CR in a value', 'refused', `${ok('X: y\rContent-Length: 0', first)}first`],
    ['a NUL in a value', 'refused', `${ok('X: \0', first)}first`],
    ['a field that is folded', 'refused', `${ok('X: y', ' Content-Length: 0', first)}first`],
    ['no colon', 'refused', `${ok('X', first)}first`],
    ['no name', 'refused', `${ok(': y', first)}first`],
    ['a blank line before it', 'refused', `\r\n${ok(first)}first`],
    ['HTTP/2.0', 'refused', `HTTP/2.0 200 OK\r\n${first}\r\n\r\nfirst`],
    ['HTTP/1.2', 'refused', `HTTP/1.2 200 OK\r\n${first}\r\n\r\nfirst`],
    ['HTTP/0.9', 'refused', `<html>${planted}`],
    ['ICY', 'refused', `ICY 200 OK\r\n${first}\r\n\r\nfirst`],
    ['a status of two digits', 'refused', `HTTP/1.1 20 OK\r\n${first}\r\n\r\nfirst`],
    ['a status of four digits', 'refused', `HTTP/1.1 2000 OK\r\n${first}\r\n\r\nfirst`],
    ['a status with a sign', 'refused', `HTTP/1.1 +20 OK\r\n${first}\r\n\r\nfirst`],
    ['status 000', 'refused', `HTTP/1.1 000 OK\r\n${first}\r\n\r\nfirst`],
    ['status 600', 'refused', `HTTP/1.1 600 OK\r\n${first}\r\n\r\nfirst`],
    ['two spaces before the status', 'refused', `HTTP/1.1  200 OK\r\n${first}\r\n\r\nfirst`],
    ['a NUL in the reason', 'refused', `HTTP/1.1 200 O\0K\r\n${first}\r\n\r\nfirst`],
    ['a bare CR in the reason', 'refused', `HTTP/1.1 200 OK\rX: y\r\n${first}\r\n\r\nfirst`],
    ['nothing at all', 'refused', '', { closes: true }],
    ['half a head', 'refused', 'HTTP/1.1 200 OK\r\nContent-', { closes: true }],
  ]),
  ...rows('answer without a body', [
    ['204 with a body', 'passed', `HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n${planted}`, { status: 204 }],
    [
      '204 with chunks',
      'passed',
      `HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n${end}${planted}`,
      { status: 204 },
    ],
    ['304 with a body', 'passed', `HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n${planted}`, { status: 304 }],
    ['HEAD with a body', 'passed', `${ok(first)}first${planted}`, { method: 'HEAD' }],
    ['HEAD with chunks', 'passed', `${chunked}5\r\nfirst\r\n${end}`, { method: 'HEAD' }],
    ['HEAD, and the body is an answer', 'passed', `${ok('Content-Length: 45')}${planted}`, { method: 'HEAD' }],
  ]),
  ...rows('interim answer', [
    ['100 with a length', 'refused', `HTTP/1.1 100 Continue\r\n${first}\r\n\r\n${planted}`],
    ['100 with chunks', 'refused', `HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n${end}${planted}`],
    ['103 with a length', 'refused', `HTTP/1.1 103 Early Hints\r\n${first}\r\n\r\nfirst${planted}`],
    [
      '101 unasked',
      'refused',
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n${planted}`,
    ],
    ['101 with a length', 'refused', `HTTP/1.1 101 Switching Protocols\r\n${first}\r\n\r\n${planted}`],
    ['without end', 'refused', 'HTTP/1.1 103 x\r\n\r\n'.repeat(200)],
    ['100, then the answer', 'passed', `HTTP/1.1 100 Continue\r\n\r\n${ok(first)}first`, { body: 'first' }],
    [
      '100, then the answer and another',
      'passed',
      `HTTP/1.1 100 Continue\r\n\r\n${ok(first)}first${planted}`,
      { body: 'first' },
    ],
  ]),
  ...rows('answer connection', [
    ['close, and more', 'passed', `${ok(first, 'Connection: close')}first${planted}`, { body: 'first' }],
    ['names the length', 'passed', `${ok(first, 'Connection: Content-Length')}first${planted}`, { body: 'first' }],
    [
      'names the coding',
      'passed',
      `${ok('Transfer-Encoding: chunked', 'Connection: Transfer-Encoding')}5\r\nfirst\r\n${end}`,
      { body: 'first' },
    ],
    [
      'keep-alive without a length',
      'passed',
      `${ok('Connection: keep-alive')}${planted}`,
      { body: planted, closes: true },
    ],
    [
      'HTTP/1.0 keep-alive and more',
      'passed',
      `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n${first}\r\n\r\nfirst${planted}`,
      { body: 'first' },
    ],
    ['two answers at once', 'passed', `${ok(first)}first${planted.repeat(2)}`, { body: 'first' }],
    ['Upgrade in an answer', 'passed', `${ok(first, 'Upgrade: h2c', 'Connection: Upgrade')}first`, { body: 'first' }],
  ]),
];
