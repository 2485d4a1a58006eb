// Requests over HTTP/2 that become something else when they are written as HTTP/1.1: line ends in values, framing fields,
// pseudo-fields in disguise, lengths that lie. Frames are written by hand; the far side speaks HTTP/1.1 alone.
import { dataFrame, endStream, type FieldPairs, headersFrame, requestFields } from './raw-http2.ts';
import { chunk, lastChunk, type Verdict } from './smuggling-case.ts';

export interface StreamCase {
  readonly name: string;
  /** Frames of stream 1. */
  readonly frames: readonly Buffer[];
  /** As for HTTP/1.1. */
  readonly verdict: Verdict;
  readonly body?: string;
}

type Row = readonly [name: string, verdict: StreamCase['verdict'], ...frames: Buffer[]];

const rows = (family: string, list: readonly Row[]): StreamCase[] =>
  list.map(([name, verdict, ...frames]) => ({ name: `${family}: ${name}`, verdict, frames }));

export function http2Cases(host: string): StreamCase[] {
  return [...pseudoCases(host), ...fieldCases(host), ...hopCases(host), ...bodyCases(host), ...frameCases(host)];
}

const smuggled = 'x\r\n\r\nGET /hidden HTTP/1.1\r\nHost: len.example';

function pseudoCases(host: string): StreamCase[] {
  const good = requestFields(host, 'GET', '/front');
  const only = (fields: FieldPairs): Buffer => headersFrame(1, fields, endStream);
  const instead = (name: string, value: string): Buffer =>
    only(good.map(([key, old]) => [key, key === name ? value : old]));
  const without = (name: string): Buffer => only(good.filter(([key]) => key !== name));
  return rows('h2 pseudo-field', [
    ['a :path with CRLF', 'refused', instead(':path', `/front HTTP/1.1\r\nX: ${smuggled}`)],
    ['a :path with LF', 'refused', instead(':path', '/front\nX: y')],
    ['a :path with a space', 'refused', instead(':path', '/front HTTP/1.1')],
    ['a :path with a tab', 'refused', instead(':path', '/front\tx')],
    ['a :path with a NUL', 'refused', instead(':path', '/front\0')],
    ['a :path past ASCII', 'refused', instead(':path', '/fr\xf6nt')],
    ['a :path that is a URL', 'refused', instead(':path', 'https://other.example/hidden')],
    ['a :path without a slash', 'refused', instead(':path', 'front')],
    ['an empty :path', 'refused', instead(':path', '')],
    ['an asterisk', 'refused', instead(':path', '*')],
    ['no :path', 'refused', without(':path')],
    ['two :path', 'refused', only([...good, [':path', '/hidden']])],
    ['a :method with CRLF', 'refused', instead(':method', `GET /hidden HTTP/1.1\r\nX: y\r\n\r\nGET`)],
    ['a :method with a space', 'refused', instead(':method', 'GET /hidden HTTP/1.1')],
    ['a :method with a NUL', 'refused', instead(':method', 'GET\0')],
    ['an empty :method', 'refused', instead(':method', '')],
    ['a :method in small letters', 'refused', instead(':method', 'get')],
    ['no :method', 'refused', without(':method')],
    ['two :method', 'refused', only([...good, [':method', 'POST']])],
    [
      'CONNECT',
      'refused',
      only([
        [':method', 'CONNECT'],
        [':authority', `${host}:443`],
      ]),
    ],
    ['extended CONNECT', 'refused', only([...requestFields(host, 'CONNECT', '/front'), [':protocol', 'websocket']])],
    [':scheme http', 'refused', instead(':scheme', 'http')],
    [':scheme with a URL', 'refused', instead(':scheme', `https://${host}/hidden?`)],
    [':scheme with CRLF', 'refused', instead(':scheme', 'https\r\nX: y')],
    ['no :scheme', 'refused', without(':scheme')],
    [':authority of another host', 'refused', instead(':authority', 'other.example')],
    [':authority with CRLF', 'refused', instead(':authority', `${host}\r\nX: y`)],
    [':authority with a path', 'refused', instead(':authority', `${host}/hidden`)],
    [':authority with a user name', 'refused', instead(':authority', `x@${host}`)],
    [':authority with another port', 'refused', instead(':authority', `${host}:8443`)],
    [':authority with a space', 'refused', instead(':authority', `${host} x`)],
    ['two :authority', 'refused', only([...good, [':authority', 'other.example']])],
    ['no :authority and no Host', 'refused', without(':authority')],
    [
      'no :authority, and Host of another',
      'refused',
      only([...good.filter(([key]) => key !== ':authority'), ['host', 'other.example']]),
    ],
    ['a pseudo-field behind a field', 'refused', only([['x', 'y'], ...good])],
    ['an unknown pseudo-field', 'refused', only([...good, [':hidden', 'x']])],
    ['a pseudo-field of answers', 'refused', only([...good, [':status', '200']])],
    ['a pseudo-field that is empty', 'refused', only([...good, [':', 'x']])],
    ['no :authority, but Host', 'one', only([...good.filter(([key]) => key !== ':authority'), ['host', host]])],
    [':authority in capitals', 'one', instead(':authority', host.toUpperCase())],
  ]);
}

function fieldCases(host: string): StreamCase[] {
  const plus = (...fields: [string, string][]): Buffer =>
    headersFrame(1, [...requestFields(host, 'GET', '/front'), ...fields], endStream);
  return rows('h2 field', [
    ['a value with CRLF', 'refused', plus(['x', smuggled])],
    ['a value with CRLF and a framing field', 'refused', plus(['x', 'y\r\nTransfer-Encoding: chunked'])],
    ['a value with LF', 'refused', plus(['x', 'y\nz: z'])],
    ['a value with CR', 'refused', plus(['x', 'y\rz: z'])],
    ['a value with a NUL', 'refused', plus(['x', 'y\0z'])],
    ['a value with a control byte', 'refused', plus(['x', 'y\x01'])],
    ['a name with CRLF', 'refused', plus(['x: y\r\ntransfer-encoding', 'chunked'])],
    ['a name with LF', 'refused', plus(['x\ny', 'z'])],
    ['a name with a colon', 'refused', plus(['transfer-encoding: chunked\r\nx', 'y'])],
    ['a name with a space', 'refused', plus(['transfer-encoding ', 'chunked'])],
    ['a name with a tab', 'refused', plus(['\ttransfer-encoding', 'chunked'])],
    ['a name with a NUL', 'refused', plus(['x\0', 'y'])],
    ['a name past ASCII', 'refused', plus(['x\xe9', 'y'])],
    ['an empty name', 'refused', plus(['', 'y'])],
    ['a name in capitals', 'refused', plus(['X-Upper', 'y'])],
    ['a framing field in capitals', 'refused', plus(['Transfer-Encoding', 'chunked'])],
    ['an underscore for the length', 'refused', plus(['content_length', '5'])],
    ['an underscore for the coding', 'refused', plus(['transfer_encoding', 'chunked'])],
    ['two Hosts', 'refused', plus(['host', host], ['host', host])],
    ['Host of another', 'refused', plus(['host', 'other.example'])],
    ['Host with CRLF', 'refused', plus(['host', `${host}\r\nX: y`])],
    ['Host of the same', 'one', plus(['host', host])],
    ['Cookie in pieces', 'one', plus(['cookie', 'a=1'], ['cookie', 'b=2'])],
    ['a value past ASCII', 'one', plus(['x', 'caf\xe9'])],
  ]);
}

function hopCases(host: string): StreamCase[] {
  const plus = (...fields: [string, string][]): Buffer =>
    headersFrame(1, [...requestFields(host, 'GET', '/front'), ...fields], endStream);
  return rows('h2 connection field', [
    ['transfer-encoding', 'refused', plus(['transfer-encoding', 'chunked'])],
    ['transfer-encoding identity', 'refused', plus(['transfer-encoding', 'identity'])],
    ['connection', 'refused', plus(['connection', 'close'])],
    ['connection that names the length', 'refused', plus(['connection', 'content-length'])],
    ['keep-alive', 'refused', plus(['keep-alive', 'timeout=5'])],
    ['proxy-connection', 'refused', plus(['proxy-connection', 'keep-alive'])],
    ['upgrade to h2c', 'refused', plus(['upgrade', 'h2c'])],
    ['upgrade to a WebSocket', 'refused', plus(['upgrade', 'websocket'])],
    ['te other than trailers', 'refused', plus(['te', 'chunked'])],
    ['an unknown expectation', 'refused', plus(['expect', 'x'])],
    ['te: trailers', 'one', plus(['te', 'trailers'])],
  ]);
}

function bodyCases(host: string): StreamCase[] {
  const hidden = `GET /hidden HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const post = (...fields: [string, string][]): Buffer =>
    headersFrame(1, [...requestFields(host, 'POST', '/front'), ...fields], 0);
  const length = (value: string): Buffer => post(['content-length', value]);
  const last = (text: string): Buffer => dataFrame(1, text, endStream);
  const trailer = (...fields: [string, string][]): Buffer => headersFrame(1, fields, endStream);
  return [
    ...rows('h2 body', [
      ['shorter than its length', 'unfinished', length('50'), last('x')],
      ['longer than its length', 'unfinished', length('1'), last(`x${hidden}`)],
      [
        'a length and no body',
        'refused',
        headersFrame(1, [...requestFields(host, 'POST', '/front'), ['content-length', '5']], endStream),
      ],
      ['two lengths that differ', 'refused', post(['content-length', '1'], ['content-length', '2']), last('x')],
      ['two lengths that agree', 'refused', post(['content-length', '1'], ['content-length', '1']), last('x')],
      ['a length with a plus', 'refused', length('+1'), last('x')],
      ['a length with a minus', 'refused', length('-1'), last('x')],
      ['a length with a nought before it', 'refused', length('010'), last('0123456789')],
      ['a length in hexadecimal', 'refused', length('0x1'), last('x')],
      ['a length with a space', 'refused', length('1 '), last('x')],
      ['a list of lengths', 'refused', length('1, 1'), last('x')],
      ['a length of nothing', 'refused', length(''), last('x')],
      ['a length past 2^64', 'refused', length('18446744073709551617'), last('x')],
      ['a length and a coding', 'refused', post(['content-length', '1'], ['transfer-encoding', 'chunked']), last('x')],
      ['a trailer named content-length', 'unfinished', post(), dataFrame(1, 'x'), trailer(['content-length', '1'])],
      [
        'a trailer named transfer-encoding',
        'unfinished',
        post(),
        dataFrame(1, 'x'),
        trailer(['transfer-encoding', 'chunked']),
      ],
      ['a trailer named host', 'unfinished', post(), dataFrame(1, 'x'), trailer(['host', 'other.example'])],
      ['a trailer named authorization', 'unfinished', post(), dataFrame(1, 'x'), trailer(['authorization', 'x'])],
      ['a pseudo-field as a trailer', 'unfinished', post(), dataFrame(1, 'x'), trailer([':path', '/hidden'])],
    ]),
    // The head says it is whole: one request, and nothing of what comes behind it.
    { name: 'h2 body: longer than a length of nought', frames: [length('0'), last(hidden)], verdict: 'one', body: '' },
    {
      name: 'h2 body: a request in it',
      frames: [length(String(hidden.length)), last(hidden)],
      verdict: 'one',
      body: hidden,
    },
    {
      name: 'h2 body: a request in it, without a length',
      frames: [post(), last(hidden)],
      verdict: 'one',
      body: `${chunk(hidden)}${lastChunk}`,
    },
    {
      name: 'h2 body: the end of chunks in it',
      frames: [post(), last(`${lastChunk}${hidden}`)],
      verdict: 'one',
      body: `${chunk(`${lastChunk}${hidden}`)}${lastChunk}`,
    },
    {
      name: 'h2 body: a trailer with a line end',
      frames: [post(), dataFrame(1, 'x'), trailer(['x-sum', `1\r\n\r\n${hidden}`.slice(0, 60)])],
      verdict: 'unfinished',
    },
    {
      name: 'h2 body: a plain trailer',
      frames: [post(), dataFrame(1, 'x'), trailer(['x-sum', '1'])],
      verdict: 'one',
      body: `${chunk('x')}0\r\nx-sum: 1\r\n\r\n`,
    },
  ];
}

function rawFrame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function frameCases(host: string): StreamCase[] {
  const post = headersFrame(1, requestFields(host, 'POST', '/front'), 0);
  const whole = headersFrame(1, requestFields(host, 'GET', '/front'), endStream);
  const text = Buffer.from(`GET /hidden HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return rows('h2 frames', [
    ['HTTP/1.1 in the place of frames', 'refused', text],
    ['data before its head', 'refused', dataFrame(1, 'x', endStream)],
    ['data behind the end', 'one', Buffer.concat([whole]), dataFrame(1, text.toString(), endStream)],
    ['a continuation of nothing', 'refused', rawFrame(9, 4, 1, Buffer.from('x'))],
    [
      'data between a head and its continuation',
      'refused',
      rawFrame(1, 0, 1, whole.subarray(9, 20)),
      dataFrame(1, 'x'),
    ],
    ['data on stream 0', 'unfinished', post, rawFrame(0, 0, 0, text)],
    ['padding longer than its frame', 'unfinished', post, rawFrame(0, 9, 1, Buffer.from([200, 1, 2]))],
    ['a second head that ends nothing', 'unfinished', post, headersFrame(1, [['x', 'y']], 0)],
    ['a push from the client', 'unfinished', post, rawFrame(5, 4, 1, Buffer.from([0, 0, 0, 2]))],
    ['a head that is no HPACK', 'refused', rawFrame(1, 5, 1, Buffer.alloc(20, 0xff))],
    ['a stream with an even number', 'refused', headersFrame(2, requestFields(host, 'GET', '/hidden'), endStream)],
  ]);
}
