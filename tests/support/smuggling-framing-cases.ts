// Requests whose end could be found in two places by their length and their coding: CL.TE, TE.CL, TE.TE, CL.CL and what
// can be done to a chunk. The far side must see one request or none.
import { type CaseRow, cases, chunk, lastChunk, type RequestCase, type RequestWords } from './smuggling-case.ts';

export function framingCases(words: RequestWords): RequestCase[] {
  return [
    ...bothCases(words),
    ...codingCases(words),
    ...lengthCases(words),
    ...chunkSizeCases(words),
    ...chunkEndCases(words),
    ...extensionCases(words),
    ...trailerCases(words),
  ];
}

function bothCases({ post, get, hidden }: RequestWords): RequestCase[] {
  const cl = (text: string): string => `Content-Length: ${text.length}`;
  const te = 'Transfer-Encoding: chunked';
  return cases('length and coding', [
    ['CL.TE', 'refused', `${post('Content-Length: 6', te)}${lastChunk}G`],
    ['CL.TE with a whole request behind', 'refused', `${post(cl(lastChunk + hidden), te)}${lastChunk}${hidden}`],
    ['TE.CL', 'refused', `${post(te, 'Content-Length: 4')}${chunk(hidden)}${lastChunk}`],
    ['a length of nought beside chunked', 'refused', `${post('Content-Length: 0', te)}${lastChunk}`],
    ['a length that fits the chunks', 'refused', `${post(cl(lastChunk), te)}${lastChunk}`],
    ['on a GET', 'refused', `${get('Content-Length: 5', te)}${lastChunk}${hidden}`],
    ['with the coding on another line', 'refused', `${post(te, 'X: y', 'Content-Length: 3')}${lastChunk}`],
    [
      'the length named by Connection',
      'refused',
      `${post(te, 'Content-Length: 3', 'Connection: content-length')}${lastChunk}`,
    ],
    [
      'the coding named by Connection',
      'refused',
      `${post(te, 'Content-Length: 3', 'Connection: transfer-encoding')}${lastChunk}`,
    ],
    ['identity beside a length', 'refused', `${post('Transfer-Encoding: identity', cl(hidden))}${hidden}`],
    ['an empty coding beside a length', 'refused', `${post('Transfer-Encoding:', cl(hidden))}${hidden}`],
  ]);
}

function codingCases({ post, head, host, get }: RequestWords): RequestCase[] {
  const te = (value: string): string => `${post(`Transfer-Encoding:${value}`)}${lastChunk}`;
  const refused: [string, string][] = [
    ['a tab before', te('\tchunked')],
    ['a tab behind', te(' chunked\t')],
    ['a space behind', te(' chunked ')],
    ['a vertical tab before', te(' \x0bchunked')],
    ['a vertical tab behind', te(' chunked\x0b')],
    ['a form feed before', te(' \x0cchunked')],
    ['a NUL behind', te(' chunked\0')],
    ['a no-break space', te(' \xa0chunked')],
    ['a byte past ASCII behind', te(' chunked\xff')],
    ['quotes', te(' "chunked"')],
    ['single quotes', te(" 'chunked'")],
    ['brackets', te(' [chunked]')],
    ['xchunked', te(' xchunked')],
    ['chunkedx', te(' chunkedx')],
    ['chunk', te(' chunk')],
    ['a parameter', te(' chunked;q=1')],
    ['a comma behind', te(' chunked,')],
    ['a comma before', te(' ,chunked')],
    ['a list with identity first', te(' identity, chunked')],
    ['a list with identity last', te(' chunked, identity')],
    ['a list with gzip', te(' gzip, chunked')],
    ['chunked twice', te(' chunked, chunked')],
    ['cow', te(' cow')],
    ['identity', te(' identity')],
    ['nothing', te('')],
    ['a line folded with a space', te('\r\n chunked')],
    ['a line folded with a tab', te('\r\n\tchunked')],
    ['a line folded behind', te(' chunked\r\n ,identity')],
    ['a bare LF before', te('\nchunked')],
    ['a bare CR before', te('\rchunked')],
    ['two lines', `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}${lastChunk}`],
    ['two lines, the second another', `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: cow')}${lastChunk}`],
    ['two lines, the first another', `${post('Transfer-Encoding: x', 'Transfer-Encoding: chunked')}${lastChunk}`],
    ['two lines, one in another case', `${post('Transfer-Encoding: chunked', 'transfer-encoding: x')}${lastChunk}`],
    ['a space before the colon', `${post('Transfer-Encoding : chunked')}${lastChunk}`],
    ['a tab before the colon', `${post('Transfer-Encoding\t: chunked')}${lastChunk}`],
    ['a NUL before the colon', `${post('Transfer-Encoding\0: chunked')}${lastChunk}`],
    ['a space before the name', `${post('X: y', ' Transfer-Encoding: chunked')}${lastChunk}`],
    ['a tab before the name', `${post('X: y', '\tTransfer-Encoding: chunked')}${lastChunk}`],
    [
      'on the first line behind the request line, after a space',
      `${head('POST /front HTTP/1.1', ' Transfer-Encoding: chunked', `Host: ${host}`)}${lastChunk}`,
    ],
    ['an underscore in the name', `${post('Transfer_Encoding: chunked')}${lastChunk}`],
    ['hidden behind a bare LF', `${post('X: y\nTransfer-Encoding: chunked')}${lastChunk}`],
    ['hidden behind a bare CR', `${post('X: y\rTransfer-Encoding: chunked')}${lastChunk}`],
    ['hidden behind a NUL', `${post('X: y\0\r\nTransfer-Encoding: chunked')}${lastChunk}`],
    ['no colon', `${post('Transfer-Encoding chunked')}${lastChunk}`],
    ['in HTTP/1.0', `${head('POST /front HTTP/1.0', `Host: ${host}`, 'Transfer-Encoding: chunked')}${lastChunk}`],
    ['a soft hyphen in the name', `${post('Transfer\xadEncoding: chunked')}${lastChunk}`],
  ];
  return cases('coding', [
    ...refused.map(([name, bytes]): CaseRow => [name, 'refused', bytes]),
    ['in capitals', 'one', te(' CHUNKED'), { body: lastChunk }],
    ['in mixed case', 'one', te(' cHuNkEd'), { body: lastChunk }],
    ['without a space', 'one', te('chunked'), { body: lastChunk }],
    ['behind many spaces', 'one', te('     chunked'), { body: lastChunk }],
    ['on a GET', 'one', `${get('Transfer-Encoding: chunked')}${lastChunk}`, { body: lastChunk }],
    [
      'a name that only looks like it',
      'one',
      `${post('X-Transfer-Encoding: chunked', 'Content-Length: 1')}x`,
      { body: 'x' },
    ],
  ]);
}

function lengthCases({ post, get, hidden, head, host }: RequestWords): RequestCase[] {
  const cl = (value: string, body = 'x'): string => `${post(`Content-Length:${value}`)}${body}`;
  const two = (a: string, b: string): string => `${post(`Content-Length: ${a}`, `Content-Length: ${b}`)}${hidden}`;
  const size = String(hidden.length);
  const refused: [string, string][] = [
    ['two that differ', two('0', size)],
    ['two that differ, the other way round', two(size, '0')],
    ['two that agree', `${post('Content-Length: 1', 'Content-Length: 1')}x`],
    ['two in another case', `${post('Content-Length: 1', 'content-length: 1')}x`],
    ['a list that agrees', cl(' 1, 1')],
    ['a list that differs', cl(` 0, ${size}`, hidden)],
    ['a comma behind', cl(' 1,')],
    ['a plus', cl(' +1')],
    ['a minus', cl(' -1')],
    ['minus nought', cl(' -0', hidden)],
    ['hexadecimal', cl(' 0x1')],
    ['an exponent', cl(' 1e0')],
    ['a fraction', cl(' 1.0')],
    ['an underscore', cl(' 1_0')],
    ['a leading nought, which some read as octal', cl(' 010', '12345678GO')],
    ['noughts alone', cl(' 00', hidden)],
    ['a space inside', cl(' 1 0')],
    ['a space behind', cl(' 1 ')],
    ['a tab before', cl('\t1')],
    ['a tab behind', cl(' 1\t')],
    ['a vertical tab', cl(' \x0b1')],
    ['a NUL behind', cl(' 1\0')],
    ['letters behind', cl(' 1x')],
    ['quotes', cl(' "1"')],
    ['nothing', cl('', hidden)],
    ['other digits', cl(' \xd9\xa1')],
    ['past 2^53', cl(' 9007199254740993')],
    ['past 2^64', cl(' 18446744073709551617')],
    ['a thousand digits', cl(` ${'9'.repeat(1000)}`)],
    ['folded', cl('\r\n 1')],
    ['a space before the colon', `${post('Content-Length : 1')}x`],
    ['an underscore in the name', `${post('Content_Length: 1')}x`],
    ['behind a bare LF', `${post(`X: y\nContent-Length: ${size}`)}${hidden}`],
    ['behind a bare CR', `${post(`X: y\rContent-Length: ${size}`)}${hidden}`],
  ];
  return cases('length', [
    ...refused.map(([name, bytes]): CaseRow => [name, 'refused', bytes]),
    ['a request in the body of another', 'one', cl(` ${size}`, hidden), { body: hidden }],
    ['a body on a GET', 'one', `${get(`Content-Length: ${size}`)}${hidden}`, { body: hidden }],
    [
      'a body on a DELETE',
      'one',
      `${head('DELETE /front HTTP/1.1', `Host: ${host}`, `Content-Length: ${size}`)}${hidden}`,
      { body: hidden },
    ],
    [
      'a body on an OPTIONS',
      'one',
      `${head('OPTIONS /front HTTP/1.1', `Host: ${host}`, `Content-Length: ${size}`)}${hidden}`,
      { body: hidden },
    ],
    [
      'named by Connection',
      'one',
      `${post(`Content-Length: ${size}`, 'Connection: Content-Length')}${hidden}`,
      { body: hidden },
    ],
    ['nought', 'one', cl(' 0', ''), { body: '' }],
    ['more than comes', 'unfinished', cl(' 100000', hidden)],
  ]);
}

function chunkSizeCases({ chunked }: RequestWords): RequestCase[] {
  const sized = (size: string): string => `${chunked}${size}\r\nx\r\n${lastChunk}`;
  const refused: [string, string][] = [
    ['a plus', sized('+1')],
    ['a minus', sized('-1')],
    ['0x', sized('0x1')],
    ['an underscore', sized('1_')],
    ['a space before', sized(' 1')],
    ['a space behind', sized('1 ')],
    ['a tab behind', sized('1\t')],
    ['a vertical tab behind', sized('1\x0b')],
    ['a NUL behind', sized('1\0')],
    ['an h behind', sized('1h')],
    ['a fraction', sized('1.0')],
    ['nothing', sized('')],
    ['letters', sized('xyz')],
    ['seventeen digits that overflow to 1', sized('10000000000000001')],
    ['nine digits that overflow 32 bits to 1', `${chunked}100000001\r\nx\r\n`],
    ['sixteen digits f', sized('ffffffffffffffff')],
    ['fifteen noughts before', sized('0000000000000001')],
    ['digits of another alphabet', sized('\xd9\xa1')],
    ['minus nought', `${chunked}-0\r\n\r\n`],
  ];
  return cases('chunk size', [
    ...refused.map(([name, bytes]): CaseRow => [name, name.includes('32 bits') ? 'unfinished' : 'refused', bytes]),
    ['leading noughts', 'one', sized('0001'), { body: `0001\r\nx\r\n${lastChunk}` }],
    ['capitals', 'one', `${chunked}A\r\n0123456789\r\n${lastChunk}`, { body: `A\r\n0123456789\r\n${lastChunk}` }],
    ['many noughts at the end', 'one', `${chunked}000\r\n\r\n`, { body: '000\r\n\r\n' }],
  ]);
}

function chunkEndCases({ chunked, hidden }: RequestWords): RequestCase[] {
  return cases('end of a chunk', [
    ['a size line that ends in LF', 'refused', `${chunked}1\nx\r\n${lastChunk}`],
    ['a size line that ends in CR', 'refused', `${chunked}1\rx\r\n${lastChunk}`],
    ['a size line that ends in CR CR LF', 'refused', `${chunked}1\r\r\nx\r\n${lastChunk}`],
    ['data that ends in LF', 'refused', `${chunked}1\r\nx\n${lastChunk}`],
    ['data that ends in CR', 'refused', `${chunked}1\r\nx\r${lastChunk}`],
    ['data that ends in nothing', 'refused', `${chunked}1\r\nx${lastChunk}`],
    ['data and two bytes that are no line end', 'refused', `${chunked}1\r\nxXX${lastChunk}`],
    ['data longer than its size', 'refused', `${chunked}1\r\nxy\r\n${lastChunk}`],
    ['a size that reaches into the next chunk', 'refused', `${chunked}5\r\nx\r\n${lastChunk}${hidden}`],
    ['a last chunk that ends in LF', 'refused', `${chunked}0\n\n${hidden}`],
    ['a last chunk with an LF behind its line', 'refused', `${chunked}0\r\n\n${hidden}`],
    ['a last chunk with a CR behind its line', 'refused', `${chunked}0\r\n\rX${hidden}`],
    ['no blank line at the end', 'refused', `${chunked}0\r\n${hidden}`],
    ['one CRLF less, then a request', 'refused', `${chunked}${chunk('x')}0\r\n${hidden}`],
    ['no last chunk', 'unfinished', `${chunked}${chunk(hidden)}40\r\n`],
    ['a request in a chunk', 'one', `${chunked}${chunk(hidden)}${lastChunk}`, { body: `${chunk(hidden)}${lastChunk}` }],
    [
      'a last chunk in a chunk',
      'one',
      `${chunked}${chunk(`${lastChunk}${hidden}`)}${lastChunk}`,
      { body: `${chunk(`${lastChunk}${hidden}`)}${lastChunk}` },
    ],
    [
      'many small chunks',
      'one',
      `${chunked}${chunk('x').repeat(50)}${lastChunk}`,
      { body: `${chunk('x').repeat(50)}${lastChunk}` },
    ],
  ]);
}

function extensionCases({ chunked, hidden }: RequestWords): RequestCase[] {
  const extended = (extension: string): string => `${chunked}1${extension}\r\nx\r\n${lastChunk}`;
  const refused: [string, string][] = [
    ['a bare LF in it', extended(';a\nb')],
    ['a bare LF in its value', extended(`;a=b\n0\r\n\r\n${hidden}`)],
    ['a bare CR in it', extended(';a\rb')],
    ['a CR in quotes', extended(';a="\r"')],
    ['an LF in quotes', extended(';a="\n"')],
    ['CRLF in quotes', extended(';a="\r\n0\r\n\r\n"')],
    ['quotes without end', extended(';a="b')],
    ['an escaped LF', extended(';a="\\\n"')],
    ['a NUL', extended(';a=\0')],
    ['nothing behind the semicolon', extended(';')],
    ['no name', extended(';=b')],
    ['no value', extended(';a=')],
    ['a space before the semicolon', extended(' ;a')],
    ['a space behind the semicolon', extended('; a')],
    ['spaces around the equals sign', extended(';a = b')],
    ['more than a line may hold', extended(`;${'a'.repeat(300)}`)],
    ['on the last chunk, with an LF', `${chunked}0;a\n\r\n${hidden}`],
  ];
  return cases('chunk extension', [
    ...refused.map(([name, bytes]): CaseRow => [name, 'refused', bytes]),
    ['plain', 'one', extended(';a=b'), { body: `1;a=b\r\nx\r\n${lastChunk}` }],
    ['a semicolon in quotes', 'one', extended(';a="b;c"'), { body: `1;a="b;c"\r\nx\r\n${lastChunk}` }],
  ]);
}

function trailerCases({ chunked, hidden, host }: RequestWords): RequestCase[] {
  const names = [
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    `Host: ${host}`,
    'Connection: close',
    'Trailer: Host',
    'Authorization: x',
    'Cookie: a=b',
    'Upgrade: h2c',
    'TE: chunked',
    'Expect: 100-continue',
    'Content_Length: 5',
    'Proxy-Connection: x',
    'Content-Type: text/html',
    'X-Forwarded-Host: x',
  ];
  return cases('trailer', [
    ...names.map((line): CaseRow => [`named ${line.split(':', 1)[0]}`, 'refused', `${chunked}0\r\n${line}\r\n\r\n`]),
    ['that ends in LF', 'refused', `${chunked}0\r\nX: y\n\r\n${hidden}`],
    ['that is folded', 'refused', `${chunked}0\r\nX: y\r\n z\r\n\r\n`],
    ['with a NUL', 'refused', `${chunked}0\r\nX: \0\r\n\r\n`],
    ['with a space before its colon', 'refused', `${chunked}0\r\nX : y\r\n\r\n`],
    ['plain', 'one', `${chunked}0\r\nX-Sum: 1\r\n\r\n`, { body: '0\r\nX-Sum: 1\r\n\r\n' }],
  ]);
}
