// Requests whose head could be read in two ways: the request line, where lines end, names of fields, Host, what asks for
// another protocol, and requests behind requests. The far side must see exactly what was judged, or nothing.
import { type CaseRow, cases, lastChunk, type RequestCase, type RequestWords } from './smuggling-case.ts';

export function headCases(words: RequestWords): RequestCase[] {
  return [
    ...startLineCases(words),
    ...lineEndCases(words),
    ...nameCases(words),
    ...hostCases(words),
    ...connectionCases(words),
    ...expectCases(words),
    ...pipelineCases(words),
  ];
}

const refusedRow = ([name, bytes]: readonly [string, string]): CaseRow => [name, 'refused', bytes];

function startLineCases({ head, host, hidden }: RequestWords): RequestCase[] {
  const line = (startLine: string): string => head(startLine, `Host: ${host}`);
  const refused: [string, string][] = [
    ['two spaces behind the method', line('GET  /front HTTP/1.1')],
    ['two spaces before the version', line('GET /front  HTTP/1.1')],
    ['a tab behind the method', line('GET\t/front HTTP/1.1')],
    ['a tab before the version', line('GET /front\tHTTP/1.1')],
    ['a space before the method', line(' GET /front HTTP/1.1')],
    ['a space behind the version', line('GET /front HTTP/1.1 ')],
    ['a space in the target', line('GET /front x HTTP/1.1')],
    ['a second version in the target', line('GET /front HTTP/1.1 HTTP/1.1')],
    ['no version (HTTP/0.9)', `GET /front\r\n${hidden}`],
    ['no target', line('GET HTTP/1.1')],
    ['HTTP/1.0', line('GET /front HTTP/1.0')],
    ['HTTP/0.9', line('GET /front HTTP/0.9')],
    ['HTTP/1.2', line('GET /front HTTP/1.2')],
    ['HTTP/2.0', line('GET /front HTTP/2.0')],
    ['HTTP/11', line('GET /front HTTP/11')],
    ['HTTP/1.10', line('GET /front HTTP/1.10')],
    ['HTTP/1.1x', line('GET /front HTTP/1.1x')],
    ['http in small letters', line('GET /front http/1.1')],
    ['ICE/1.1', line('GET /front ICE/1.1')],
    ['a NUL in the target', line('GET /front\0 HTTP/1.1')],
    ['a byte past ASCII in the target', line('GET /fr\xf6nt HTTP/1.1')],
    ['a DEL in the target', line('GET /front\x7f HTTP/1.1')],
    ['a bare CR in the target', line('GET /front\r HTTP/1.1')],
    ['an LF in the method', line('GE\nT /front HTTP/1.1')],
    ['CRLF in the method', line('GE\r\nT /front HTTP/1.1')],
    ['a method of small letters', line('get /front HTTP/1.1')],
    ['a method with a colon', line('GET: /front HTTP/1.1')],
    ['a method with a slash', line('GET/x /front HTTP/1.1')],
    ['CONNECT behind a CONNECT', head('CONNECT other.example:443 HTTP/1.1', 'Host: other.example:443')],
    ['TRACE', line('TRACE /front HTTP/1.1')],
    ['an asterisk on a GET', line('GET * HTTP/1.1')],
    ['a target without a slash', line('GET front HTTP/1.1')],
    ['a fragment', line('GET /front#x HTTP/1.1')],
    ['dot segments', line('GET /a/../front HTTP/1.1')],
    ['an empty segment', line('GET //front HTTP/1.1')],
    ['an encoded line end', line('GET /front%0d%0aX:y HTTP/1.1')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a quote that swallows the version', line('GET /front" HTTP/1.1\r\nX: "HTTP/1.1')],
  ];
  return cases('start line', [
    ...refused.map(
      (row): CaseRow =>
        row[0].startsWith('a quote') ? [row[0], 'one', row[1], { target: '/front"' }] : refusedRow(row),
    ),
    ['the preface of HTTP/2 behind a request', 'one', `${line('GET /front HTTP/1.1')}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`],
    ['a method of its own', 'one', line('PROPFIND /front HTTP/1.1')],
    [
      'a query with a URL in it',
      'one',
      line('GET /front?u=http://other.example/ HTTP/1.1'),
      { target: '/front?u=http://other.example/' },
    ],
  ]);
}

function lineEndCases({ head, host, hidden, get }: RequestWords): RequestCase[] {
  return cases('line end', [
    ['LF everywhere', 'refused', `GET /front HTTP/1.1\nHost: ${host}\n\n`],
    ['LF behind the request line', 'refused', `GET /front HTTP/1.1\nHost: ${host}\r\n\r\n`],
    ['LF behind a field', 'refused', `GET /front HTTP/1.1\r\nHost: ${host}\nX: y\r\n\r\n`],
    ['LF as the blank line', 'refused', `GET /front HTTP/1.1\r\nHost: ${host}\r\n\n${hidden}`],
    ['CR everywhere', 'refused', `GET /front HTTP/1.1\rHost: ${host}\r\r`],
    ['CR behind a field', 'refused', `GET /front HTTP/1.1\r\nHost: ${host}\rX: y\r\n\r\n`],
    ['CR CR LF', 'refused', `GET /front HTTP/1.1\r\r\nHost: ${host}\r\n\r\n`],
    ['LF CR', 'refused', `GET /front HTTP/1.1\n\rHost: ${host}\n\r\n\r`],
    ['a blank line before the request', 'refused', `\r\n${get()}`],
    ['an LF before the request', 'refused', `\n${get()}`],
    ['a field that is folded', 'refused', get('X: y', ' z')],
    ['a field that is folded with a tab', 'refused', get('X: y', '\tz')],
    ['a Host that is folded', 'refused', head('GET /front HTTP/1.1', 'Host:', ` ${host}`)],
    ['a line of spaces', 'refused', get('   ')],
    ['a blank line with a space in it', 'refused', `GET /front HTTP/1.1\r\nHost: ${host}\r\n \r\n${hidden}`],
    ['a vertical tab as a line end', 'refused', get('X: y\x0bZ: z')],
    ['NEL in a value', 'one', get('X: y\x85Z: z')],
  ]);
}

function nameCases({ get }: RequestWords): RequestCase[] {
  const refused: [string, string][] = [
    ['no name', get(': y')],
    ['no colon', get('X')],
    ['a space before the colon', get('X : y')],
    ['a space inside', get('X Y: z')],
    ['a NUL', get('X\0: y')],
    ['a control byte', get('X\x01: y')],
    ['a DEL', get('X\x7f: y')],
    ['a byte past ASCII', get('X\xe9: y')],
    ['brackets', get('(X): y')],
    ['a semicolon', get('X;Y: z')],
    ['a NUL in the value', get('X: y\0')],
    ['a control byte in the value', get('X: y\x01')],
    ['a DEL in the value', get('X: y\x7f')],
    ['an escape in the value', get('X: \x1b[31m')],
    ['300 fields', get(...Array.from({ length: 300 }, (_, i) => `X-${i}: y`))],
    ['a field longer than a head may be', get(`X: ${'y'.repeat(80_000)}`)],
  ];
  return cases('field', [
    ...refused.map(refusedRow),
    ['an underscore in another name', 'one', get('X_Y: z')],
    ['bytes past ASCII in a value', 'one', get('X: caf\xe9')],
    ['a colon in a value', 'one', get('X: y: z')],
    ['no value', 'one', get('X:')],
  ]);
}

function hostCases({ head, host }: RequestWords): RequestCase[] {
  const h = (...lines: string[]): string => head('GET /front HTTP/1.1', ...lines);
  const url = (target: string, ...lines: string[]): string => head(`GET ${target} HTTP/1.1`, ...lines);
  const refused: [string, string][] = [
    ['none', h()],
    ['an empty one', h('Host:')],
    ['two that agree', h(`Host: ${host}`, `Host: ${host}`)],
    ['two that differ', h(`Host: ${host}`, 'Host: other.example')],
    ['two that differ, the other first', h('Host: other.example', `Host: ${host}`)],
    ['another', h('Host: other.example')],
    ['a list', h(`Host: ${host}, other.example`)],
    ['another port', h(`Host: ${host}:8443`)],
    ['an empty port', h(`Host: ${host}:`)],
    ['a port of letters', h(`Host: ${host}:https`)],
    ['a port behind noughts', h(`Host: ${host}:0443`)],
    ['a path', h(`Host: ${host}/x`)],
    ['a path to another host', h(`Host: ${host}/@other.example`)],
    ['a user name', h(`Host: x@${host}`)],
    ['a query', h(`Host: ${host}?x`)],
    ['a trailing dot', h(`Host: ${host}.`)],
    ['a space inside', h(`Host: ${host} other.example`)],
    ['a tab inside', h(`Host: ${host}\tother.example`)],
    ['a NUL', h(`Host: ${host}\0.other.example`)],
    ['an address', h('Host: 127.0.0.1')],
    ['an address of IPv6', h('Host: [::1]')],
    ['a space before the colon', h(`Host : ${host}`)],
    ['a scheme', h(`Host: https://${host}`)],
    ['a URL of another host', url('https://other.example/front', `Host: ${host}`)],
    ['a URL, and Host of another', url(`https://${host}/front`, 'Host: other.example')],
    ['a URL without Host', url(`https://${host}/front`)],
    ['a URL with a user name', url(`https://other.example@${host}/front`, `Host: ${host}`)],
    ['a URL with http', url(`http://${host}/front`, `Host: ${host}`)],
    ['a URL with another scheme', url(`ftp://${host}/front`, `Host: ${host}`)],
    ['a URL with a backslash', url(`https://${host}\\@other.example/front`, `Host: ${host}`)],
    ['a URL without a scheme', url(`${host}/front`, `Host: ${host}`)],
  ];
  return cases('Host', [
    ...refused.map(refusedRow),
    ['in capitals', 'one', h(`Host: ${host.toUpperCase()}`)],
    ['with its port', 'one', h(`Host: ${host}:443`)],
    ['as the last field', 'one', h('X: y', `Host: ${host}`)],
    ['a URL of the same host', 'one', url(`https://${host}/front`, `Host: ${host}`)],
    ['X-Forwarded-Host beside it', 'one', h(`Host: ${host}`, 'X-Forwarded-Host: other.example')],
  ]);
}

function connectionCases({ get, post, hidden }: RequestWords): RequestCase[] {
  const upgrade = (...lines: string[]): string => get('Connection: Upgrade', ...lines);
  return cases('connection', [
    ['names Host', 'one', get('Connection: Host')],
    [
      'names Transfer-Encoding',
      'one',
      `${post('Transfer-Encoding: chunked', 'Connection: Transfer-Encoding')}${lastChunk}`,
      { body: lastChunk },
    ],
    ['names a field of its own', 'one', get('X-Hop: y', 'Connection: X-Hop')],
    ['names nothing', 'one', get('Connection: ,,')],
    ['Keep-Alive and Proxy-Connection', 'one', get('Keep-Alive: timeout=5', 'Proxy-Connection: keep-alive')],
    ['TE: chunked', 'one', get('TE: chunked', 'Connection: TE')],
    [
      'h2c is left out',
      'one',
      get('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA'),
    ],
    [
      'h2c with a body',
      'one',
      `${post('Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${hidden.length}`)}${hidden}`,
      { body: hidden },
    ],
    ['Upgrade without Connection', 'one', get('Upgrade: h2c')],
    ['an upgrade to TLS', 'refused', upgrade('Upgrade: TLS/1.0')],
    ['an upgrade to two protocols', 'refused', upgrade('Upgrade: websocket, h2c')],
    [
      'an upgrade to a WebSocket by POST',
      'refused',
      post('Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 0'),
    ],
    [
      'a WebSocket with a body',
      'refused',
      `${upgrade('Upgrade: websocket', `Content-Length: ${hidden.length}`)}${hidden}`,
    ],
    ['a WebSocket with a nought spelt otherwise', 'refused', upgrade('Upgrade: websocket', 'Content-Length: 00')],
    ['a WebSocket with two noughts', 'refused', upgrade('Upgrade: websocket', 'Content-Length: 0, 0')],
    [
      'a WebSocket with chunks',
      'refused',
      `${upgrade('Upgrade: websocket', 'Transfer-Encoding: chunked')}${lastChunk}`,
    ],
    ['HTTP/2.0 as an upgrade', 'refused', upgrade('Upgrade: HTTP/2.0')],
  ]);
}

function expectCases({ post, get, hidden }: RequestWords): RequestCase[] {
  const length = `Content-Length: ${hidden.length}`;
  return cases('Expect', [
    ['100-continue, and the body at once', 'one', `${post('Expect: 100-continue', length)}${hidden}`, { body: hidden }],
    ['100-continue in capitals', 'one', `${post('Expect: 100-CONTINUE', length)}${hidden}`, { body: hidden }],
    [
      '100-continue with chunks',
      'one',
      `${post('Expect: 100-continue', 'Transfer-Encoding: chunked')}${lastChunk}`,
      { body: lastChunk },
    ],
    ['100-continue without a body', 'one', get('Expect: 100-continue')],
    ['twice', 'refused', `${post('Expect: 100-continue', 'Expect: 100-continue', length)}${hidden}`],
    ['something else', 'refused', `${post('Expect: x', length)}${hidden}`],
    ['a list', 'refused', `${post('Expect: 100-continue, x', length)}${hidden}`],
    ['a line folded before', 'refused', `${post('Expect:\r\n 100-continue', length)}${hidden}`],
    ['nothing', 'refused', `${post('Expect:', length)}${hidden}`],
    ['a tab inside', 'refused', `${post('Expect: 100-\tcontinue', length)}${hidden}`],
  ]);
}

function pipelineCases({ get, post, head, host, chunked }: RequestWords): RequestCase[] {
  const second = head('GET /second HTTP/1.1', `Host: ${host}`);
  return cases('pipelined', [
    ['two in one go', 'two', `${get()}${second}`],
    ['behind a body', 'two', `${post('Content-Length: 1')}x${second}`],
    ['behind chunks', 'two', `${chunked}${lastChunk}${second}`],
    ['a second one to another host', 'one', `${get()}${head('GET /hidden HTTP/1.1', 'Host: other.example')}`],
    ['a second one that cannot be read', 'one', `${get()}GET  /hidden HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a second one behind a blank line', 'one', `${get()}\r\n${head('GET /hidden HTTP/1.1', `Host: ${host}`)}`],
    [
      'a second one behind a close',
      'one',
      `${get('Connection: close')}${head('GET /hidden HTTP/1.1', `Host: ${host}`)}`,
    ],
    [
      'a CONNECT behind a request',
      'one',
      `${get()}${head('CONNECT other.example:443 HTTP/1.1', 'Host: other.example:443')}`,
    ],
    ['a body that was not announced', 'one', `${get()}x=1&y=2`],
    ['a body that was not announced, with a line end', 'one', `${get()}x=1\r\n\r\n`],
  ]);
}
