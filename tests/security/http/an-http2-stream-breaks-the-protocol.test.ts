// HTTP/2 that breaks the protocol itself: illegal fields, frames out of their place, windows that overflow, numbers of streams
// used twice. The stream is reset or the connection closed with the code that the protocol has for it, the upstream sees
// nothing of it, and the journal says what it was.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import {
  dataFrame,
  endStream,
  type FieldPairs,
  FramePeer,
  frame,
  goawayCode,
  headersFrame,
  hpack,
  requestFields,
  resetFrame,
} from '../../support/raw-http2.ts';
import { openTls } from '../../support/tunnel-client.ts';

const [protocol, flowControl, streamClosed, frameSize, compression, calm] = [1, 3, 5, 6, 9, 11] as const;
const [headers, priority, settings, push, ping, goaway, windowUpdate, continuation] = [1, 2, 4, 5, 6, 7, 8, 9] as const;
const [padded, withPriority, endHeaders] = [8, 0x20, 4] as const;
const host = 'api.example';
const good = requestFields(host, 'GET', '/');
const post = requestFields(host, 'POST', '/');
const plus = (...fields: [string, string][]): FieldPairs => [...good, ...fields];
const without = (name: string): FieldPairs => good.filter(([key]) => key !== name);
const begun = headersFrame(1, post, 0);
const trailers = (...fields: [string, string][]): Buffer[] => [
  begun,
  dataFrame(1, 'x'),
  headersFrame(1, fields, endStream),
];

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function setting(id: number, value: number): Buffer {
  return frame(settings, 0, 0, Buffer.concat([Buffer.from([0, id]), word(value)]));
}

let ground: AttackGround;
let peer: FramePeer;
let before = 0;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  ground.upstream.forget();
  before = (await ground.gateway.journal()).filter(({ verdict }) => verdict === 'refused').length;
  const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
  peer = new FramePeer(await openTls(ground.gateway, `${host}:443`, options), false);
});

afterEach(() => {
  peer.socket.destroy();
});

/** That something was refused by this code since the test began. */
async function recorded(code: string): Promise<boolean> {
  const refused = (await ground.gateway.journal()).filter(({ verdict }) => verdict === 'refused');
  return refused.slice(before).some((record) => record.code === code);
}

describe('its stream is reset', () => {
  test.each<[string, number, string, Buffer[]]>([
    ['a name in capitals', protocol, 'malformed.syntax', [headersFrame(1, plus(['X-Upper', 'y']), endStream)]],
    ['a name with a space', protocol, 'malformed.syntax', [headersFrame(1, plus(['a b', 'y']), endStream)]],
    ['a name with a colon', protocol, 'malformed.syntax', [headersFrame(1, plus(['a:b', 'y']), endStream)]],
    ['a name with a line break', protocol, 'malformed.syntax', [headersFrame(1, plus(['a\r\nb', 'y']), endStream)]],
    ['an empty name', protocol, 'malformed.syntax', [headersFrame(1, plus(['', 'y']), endStream)]],
    ['a value with CR and LF', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', 'a\r\nb: c']), endStream)]],
    ['a value with LF', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', 'a\nb']), endStream)]],
    ['a value with CR', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', 'a\rb']), endStream)]],
    ['a value with a NUL', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', 'a\0b']), endStream)]],
    ['a value that begins with a space', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', ' a']), endStream)]],
    ['a value that ends with a tab', protocol, 'malformed.syntax', [headersFrame(1, plus(['x', 'a\t']), endStream)]],
    ['two :path', protocol, 'malformed.syntax', [headersFrame(1, [...good, [':path', '/b']], endStream)]],
    ['a late :path', protocol, 'malformed.syntax', [headersFrame(1, [['x', 'y'], ...good], endStream)]],
    ['an unknown pseudo-field', protocol, 'malformed.syntax', [headersFrame(1, [...good, [':odd', 'y']], endStream)]],
    ['no :path', protocol, 'malformed.syntax', [headersFrame(1, without(':path'), endStream)]],
    ['no :method', protocol, 'malformed.syntax', [headersFrame(1, without(':method'), endStream)]],
    ['no :scheme', protocol, 'malformed.syntax', [headersFrame(1, without(':scheme'), endStream)]],
    ['a field of a connection', protocol, 'malformed.syntax', [headersFrame(1, plus(['upgrade', 'h2c']), endStream)]],
    ['TE other than trailers', protocol, 'malformed.syntax', [headersFrame(1, plus(['te', 'gzip']), endStream)]],
    [
      'a head that depends on itself',
      protocol,
      'malformed.syntax',
      [
        frame(
          headers,
          endStream | endHeaders | withPriority,
          1,
          Buffer.concat([word(1), Buffer.from([0]), hpack(good)]),
        ),
      ],
    ],
    ['a trailer with a capital', protocol, 'malformed.framing', trailers(['X-Sum', '1'])],
    ['a trailer with a line break', protocol, 'malformed.framing', trailers(['x-sum', '1\r\n\r\nGET /hidden'])],
    ['a trailer with a NUL', protocol, 'malformed.framing', trailers(['x-sum', '1\0'])],
    ['a pseudo-field as a trailer', protocol, 'malformed.framing', trailers([':path', '/hidden'])],
    ['a trailer of a connection', protocol, 'malformed.framing', trailers(['connection', 'close'])],
    ['a second head', protocol, 'malformed.framing', [begun, headersFrame(1, [['x', 'y']], 0)]],
    [
      'more content than its length',
      protocol,
      'malformed.framing',
      [headersFrame(1, [...post, ['content-length', '1']], 0), dataFrame(1, 'xx', endStream)],
    ],
    [
      'less content than its length',
      protocol,
      'malformed.framing',
      [headersFrame(1, [...post, ['content-length', '3']], 0), dataFrame(1, 'xx', endStream)],
    ],
    ['a window that grows by nothing', protocol, 'malformed.framing', [begun, frame(windowUpdate, 0, 1, word(0))]],
    ['a window past 2^31', flowControl, 'malformed.framing', [begun, frame(windowUpdate, 0, 1, word(0x7fffffff))]],
    [
      'content behind the end of a request under way',
      streamClosed,
      'malformed.framing',
      [headersFrame(1, requestFields(host, 'GET', '/held'), endStream), dataFrame(1, 'x')],
    ],
  ])('%s', async (_what, code, refusal, frames) => {
    peer.send(...frames);
    await eventually(() => peer.outcome(1).reset !== null, 'the stream is reset');
    expect(peer.outcome(1)).toEqual({ answered: false, reset: code, goaway: false });
    // Another request on the connection is served, and nothing of the first has arrived by then.
    peer.send(headersFrame(3, good, endStream));
    await eventually(() => peer.outcome(3).answered, 'the next is answered');
    const { requests, bytes } = ground.upstream;
    expect(requests.filter(({ head }) => !head.startsWith('GET /held'))).toHaveLength(1);
    expect(bytes).not.toMatch(/hidden|x-sum/i);
    await eventually(() => recorded(refusal), 'it is in the journal');
  });
});

describe('the connection is closed', () => {
  const bomb = Buffer.concat([
    hpack(good),
    Buffer.from([0x40, 1, 0x78, 0x7f, 0xa1, 0x1e]),
    Buffer.alloc(4000, 'y'),
    Buffer.alloc(4000, 0xbe),
  ]);

  test.each<[string, number, Buffer[]]>([
    ['a stream with an even number', protocol, [headersFrame(2, good, endStream)]],
    ['a head on stream 0', protocol, [headersFrame(0, good, endStream)]],
    [
      'a stream with a smaller number',
      protocol,
      [headersFrame(5, plus(['X', 'y']), endStream), headersFrame(3, good, endStream)],
    ],
    ['data on a stream that was never opened', protocol, [dataFrame(1, 'x', endStream)]],
    ['data on stream 0', protocol, [begun, dataFrame(0, 'x')]],
    ['data on a stream that the client has reset', streamClosed, [begun, resetFrame(1, 8), dataFrame(1, 'x')]],
    [
      'a head on a stream that the client has reset',
      protocol,
      [begun, resetFrame(1, 8), headersFrame(1, good, endStream)],
    ],
    ['a reset of a stream that was never opened', protocol, [resetFrame(1, 8)]],
    ['a window of a stream that was never opened', protocol, [frame(windowUpdate, 0, 1, word(1))]],
    ['a window of the connection that grows by nothing', protocol, [frame(windowUpdate, 0, 0, word(0))]],
    ['a window of the connection past 2^31', flowControl, [frame(windowUpdate, 0, 0, word(0x7fffffff))]],
    ['an initial window past 2^31', flowControl, [setting(4, 0x80000000)]],
    [
      'an initial window that makes one of a stream too large',
      flowControl,
      [begun, frame(windowUpdate, 0, 1, word(0x7fff0000)), setting(4, 0x7fffffff)],
    ],
    ['push that is neither on nor off', protocol, [setting(2, 2)]],
    ['frames that are to be too small', protocol, [setting(5, 16_383)]],
    ['frames that are to be too large', protocol, [setting(5, 0x1000000)]],
    ['settings of an odd length', frameSize, [frame(settings, 0, 0, Buffer.alloc(5))]],
    ['settings on a stream', protocol, [frame(settings, 0, 1, Buffer.alloc(0))]],
    ['an acknowledgement with content', frameSize, [frame(settings, 1, 0, Buffer.alloc(6))]],
    ['more settings than there are', calm, [frame(settings, 0, 0, Buffer.alloc(6 * 17))]],
    ['a frame that is too large', frameSize, [begun, frame(0, 0, 1, Buffer.alloc(16_385))]],
    ['a ping of seven bytes', frameSize, [frame(ping, 0, 0, Buffer.alloc(7))]],
    ['a ping on a stream', protocol, [frame(ping, 0, 1, Buffer.alloc(8))]],
    ['a reset of three bytes', frameSize, [begun, frame(3, 0, 1, Buffer.alloc(3))]],
    ['a window of three bytes', frameSize, [frame(windowUpdate, 0, 0, Buffer.alloc(3))]],
    ['a goodbye of four bytes', frameSize, [frame(goaway, 0, 0, Buffer.alloc(4))]],
    ['a priority of four bytes', frameSize, [frame(priority, 0, 3, Buffer.alloc(4))]],
    ['a priority of a stream on itself', protocol, [frame(priority, 0, 3, Buffer.concat([word(3), Buffer.from([1])]))]],
    ['a push from the client', protocol, [begun, frame(push, endHeaders, 1, word(2))]],
    ['a continuation of nothing', protocol, [frame(continuation, endHeaders, 1, hpack(good))]],
    [
      'a ping in the middle of a head',
      protocol,
      [frame(headers, endStream, 1, hpack(good)), frame(ping, 0, 0, Buffer.alloc(8))],
    ],
    [
      'a continuation of another head',
      protocol,
      [frame(headers, endStream, 1, hpack(good)), frame(continuation, endHeaders, 3, Buffer.alloc(0))],
    ],
    [
      'continuations without end',
      calm,
      [frame(headers, endStream, 1, hpack(good)), ...Array(100).fill(frame(continuation, 0, 1, Buffer.alloc(0)))],
    ],
    ['padding longer than its frame', protocol, [begun, frame(0, padded, 1, Buffer.from([9, 1, 2]))]],
    [
      'padding of a head longer than its frame',
      protocol,
      [frame(headers, padded | endHeaders, 1, Buffer.from([9, 1, 2]))],
    ],
    ['a head that is no HPACK', compression, [frame(headers, endStream | endHeaders, 1, Buffer.alloc(20, 0xff))]],
    [
      'a table larger than was allowed',
      compression,
      [frame(headers, 5, 1, Buffer.concat([Buffer.from('3fe21f', 'hex'), hpack(good)]))],
    ],
    ['HTTP/1.1 in the place of frames', frameSize, [Buffer.from(`GET /hidden HTTP/1.1\r\nHost: ${host}\r\n\r\n`)]],
    [
      'a second acknowledgement of settings',
      protocol,
      [frame(settings, 1, 0, Buffer.alloc(0)), frame(settings, 1, 0, Buffer.alloc(0))],
    ],
  ])('%s', async (_what, code, frames) => {
    peer.send(...frames);
    await eventually(() => peer.closed, 'the connection is closed');
    expect(goawayCode(peer)).toBe(code);
    expect(ground.upstream.requests).toEqual([]);
    expect(ground.upstream.bytes).not.toMatch(/hidden/);
    await eventually(() => recorded(code === calm ? 'limit.http2-flood' : 'malformed.framing'), 'it is in the journal');
  });

  test('a head that unfolds to far more than it may be is reset, and the table is as it was', async () => {
    peer.send(frame(headers, endStream | endHeaders, 1, bomb));
    peer.send(frame(headers, endStream | endHeaders, 3, Buffer.concat([hpack(good), Buffer.from([0xbe])])));
    await eventually(() => peer.outcome(3).answered, 'the next is answered');
    expect(peer.outcome(1)).toEqual({ answered: false, reset: protocol, goaway: false });
    expect(ground.upstream.requests).toHaveLength(1);
    expect(ground.upstream.bytes).toContain(`x: ${'y'.repeat(4000)}`);
    await eventually(() => recorded('limit.head-size'), 'it is in the journal');
  });
});

test('the same frames, in their place, pass', async () => {
  peer.send(
    setting(4, 100_000),
    frame(priority, 0, 9, Buffer.concat([word(0), Buffer.from([1])])),
    frame(0xfa, 0xff, 0, Buffer.alloc(3)),
    frame(headers, 0, 1, hpack(post).subarray(0, 10)),
    frame(continuation, 0, 1, hpack(post).subarray(10)),
    frame(continuation, endHeaders, 1, hpack([['x', 'caf\xe9 \tz']])),
    frame(0, padded, 1, Buffer.from([3, 0x68, 0x69, 0, 0, 0])),
    frame(windowUpdate, 0, 1, word(1)),
    headersFrame(1, [['x-sum', '1']], endStream),
  );
  await eventually(() => peer.outcome(1).answered, 'it is answered');
  expect(ground.upstream.requests.map(({ body }) => body)).toEqual(['2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n']);
  expect(ground.upstream.requests[0]!.head).toContain('x: caf\xe9 \tz\r\n');
});
