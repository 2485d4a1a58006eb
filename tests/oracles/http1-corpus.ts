// HTTP/1.1 streams for the differential tests: well-formed messages put together from parts, among them the parts
// that smuggling is made of, then damaged byte by byte. Everything follows from a seed; nothing here parses.

export type Random = () => number;

/** mulberry32: small, seeded, good enough to pick test cases. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const int = (random: Random, below: number): number => Math.floor(random() * below);
const pick = <T>(random: Random, from: readonly T[]): T => from[int(random, from.length)]!;
const chance = (random: Random, probability: number): boolean => random() < probability;

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'];
const targets = ['/', '/v1/messages', '/a/b?c=d&e=%20', 'http://api.example/x', '*', '/#frag', '/a//b/../c', '/?q=%00'];
const plainFields = [
  'Host: api.example',
  'User-Agent: test/1.0 (a; b)',
  'Accept: */*',
  'X-Empty:',
  'X-Spaces: \t  padded \t ',
  'x-lower:no-space',
  'X-Obs: caf\xe9',
  'X-Tab: a\tb',
  'X-Colon: a:b:c',
  'Cookie: a=1; b=2',
  'X-Repeat: one',
  'X-Repeat: two',
  "!#$%&'*+-.^_`|~: every token byte",
];
const connectionFields = [
  'Connection: keep-alive',
  'Connection: Keep-Alive',
  'Connection: close',
  'Connection: x-other, CLOSE',
  'Connection: close, keep-alive',
  'Connection: ,keep-alive,,',
  'Connection: upgrade',
  'Connection: keep-alive, Upgrade',
  'Connection: closed',
  'Connection: close x',
  'Upgrade: websocket',
];
const trickyFields = [
  'Content-Length: 3',
  'Content-Length: 0',
  'Content-Length: 3, 3',
  'Content-Length: +3',
  'Content-Length: 0x3',
  'Content-Length: 3 3',
  'Content-Length:',
  'Content-Length: 99999999999999999999',
  'Content_Length: 3',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: CHUNKED',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: chunkedx',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding:',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Content-Length : 3',
  'X-Folded: a\r\n b',
  'X-Bare: a\nContent-Length: 3',
  'X-Bare: a\rContent-Length: 3',
  'X-Nul: a\0b',
  ': no name',
  'no colon',
  'Expect: 100-continue',
  'Trailer: X-Checksum',
];
const chunkLines = ['', '', '', '', ';a', ';a=b', ';a="q;u\\"o\r"', ';a="ok; fine"', ' ', ';', ';a=', '; a=b', '\t'];
const trailerLines = ['X-Checksum: abc', 'X-T: \xe9 ', 'grpc-status: 0', 'X-Empty:', 'Content-Length: 3', 'X-Bad : x'];

function body(random: Random): string {
  const bytes = int(random, 20);
  let text = '';
  // Letters only in part: a body that looks like framing is what tells a reader that loses its place.
  for (let i = 0; i < bytes; i++)
    text += pick(random, ['a', 'b', '\r\n', '0', '\r\n\r\n', 'GET / HTTP/1.1', '\0', '\xff']);
  return text;
}

function chunked(random: Random): string {
  let text = '';
  for (let chunks = int(random, 4); chunks > 0; chunks--) {
    const data = body(random);
    if (data.length === 0) continue;
    const size = data.length.toString(16);
    text += `${chance(random, 0.1) ? `00${size}` : chance(random, 0.1) ? size.toUpperCase() : size}`;
    text += `${chance(random, 0.15) ? pick(random, chunkLines) : ''}\r\n${data}\r\n`;
  }
  text += `0${chance(random, 0.1) ? pick(random, chunkLines) : ''}\r\n`;
  if (chance(random, 0.3)) for (let i = int(random, 3); i >= 0; i--) text += `${pick(random, trailerLines)}\r\n`;
  return `${text}\r\n`;
}

function message(random: Random, startLine: string): string {
  const lines: string[] = [];
  for (let i = int(random, 5); i > 0; i--) lines.push(pick(random, plainFields));
  if (chance(random, 0.3)) lines.push(pick(random, connectionFields));
  if (chance(random, 0.1)) lines.push(pick(random, connectionFields));
  let content = '';
  const framing = random();
  if (framing < 0.3) {
    content = body(random);
    lines.push(`${pick(random, ['Content-Length', 'content-length'])}: ${content.length}`);
  } else if (framing < 0.65) {
    content = chunked(random);
    lines.push(`Transfer-Encoding: ${pick(random, ['chunked', 'chunked', 'Chunked'])}`);
  }
  if (chance(random, 0.15)) lines.push(pick(random, trickyFields));
  lines.sort(() => random() - 0.5);
  return `${startLine}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${content}`;
}

const nastyBytes = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '1',
  'f',
  '\x0b',
  '\x7f',
  '\x85',
  '\xa0',
  '-',
  '_',
  '"',
];

function damage(random: Random, stream: string): string {
  let text = stream;
  for (let times = chance(random, 0.5) ? 0 : 1 + int(random, 2); times > 0; times--) {
    const at = int(random, text.length + 1);
    const to = Math.min(text.length, at + 1 + int(random, 4));
    const kind = int(random, 5);
    if (kind === 0) text = text.slice(0, at) + pick(random, nastyBytes) + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(to);
    else if (kind === 2) text = text.slice(0, at) + pick(random, nastyBytes) + text.slice(at + 1);
    else if (kind === 3) text = text.slice(0, to) + text.slice(at);
    else text = text.slice(0, text.length - int(random, 3));
  }
  return text;
}

/** One to three requests on one connection, as bytes. */
export function requestStream(random: Random): Buffer {
  let text = '';
  for (let i = 1 + int(random, 3); i > 0; i--) {
    const version = chance(random, 0.05) ? pick(random, ['1.0', '1.0', '2.0', '1.2', '0.9']) : '1.1';
    text += message(random, `${pick(random, methods)} ${pick(random, targets)} HTTP/${version}`);
  }
  return Buffer.from(damage(random, text), 'latin1');
}

const statusLines = [
  '200 OK',
  '200 OK',
  '404 Not Found',
  '500 ',
  '200',
  '204 No Content',
  '304 Not Modified',
  '100 Continue',
  '103 x',
];

/** One to three answers on one connection, as bytes. */
export function responseStream(random: Random): Buffer {
  let text = '';
  for (let i = 1 + int(random, 3); i > 0; i--) {
    const version = chance(random, 0.05) ? '1.0' : '1.1';
    text += message(random, `HTTP/${version} ${pick(random, statusLines)}`);
  }
  return Buffer.from(damage(random, text), 'latin1');
}

/** The same bytes, cut where a network might cut them. */
export function cut(random: Random, stream: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < stream.length) {
    const to = Math.min(stream.length, at + 1 + int(random, chance(random, 0.5) ? 4 : 200));
    parts.push(stream.subarray(at, to));
    at = to;
  }
  return parts;
}
