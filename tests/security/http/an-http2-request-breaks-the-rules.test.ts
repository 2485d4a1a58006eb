import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import {
  dataFrame,
  endStream,
  type FieldPairs,
  type Frame,
  FramePeer,
  headersFrame,
  requestFields,
  rstStream,
  startFrameUpstream,
} from '../../support/raw-http2.ts';
import { startTestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

async function openPeer(): Promise<FramePeer> {
  const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
  return new FramePeer(await openTls(ground.gateway, 'api.example:443', options), false);
}

const good = requestFields('api.example', 'GET', '/');
const post = requestFields('api.example', 'POST', '/');
const without = (name: string): FieldPairs => good.filter(([key]) => key !== name);
const instead = (name: string, value: string): FieldPairs =>
  good.map(([key, old]) => [key, key === name ? value : old]);

/** Ends in an answer of the gateway's own, a reset of the stream, or a goodbye. */
async function send(...frames: Buffer[]): Promise<{ answered: boolean }> {
  ground.upstream.forget();
  const peer = await openPeer();
  peer.send(...frames);
  const ended = await eventually(() => {
    const outcome = peer.outcome(1);
    return outcome.answered || outcome.reset !== null || outcome.goaway || peer.closed ? outcome : null;
  }, 'the stream ends');
  peer.socket.destroy();
  return ended;
}

const heads: [string, FieldPairs][] = [
  [
    'CONNECT',
    [
      [':method', 'CONNECT'],
      [':authority', 'open.example:443'],
    ],
  ],
  [
    'CONNECT to its own host',
    [
      [':method', 'CONNECT'],
      [':authority', 'api.example:443'],
    ],
  ],
  ['extended CONNECT, which is not offered', [...instead(':method', 'CONNECT'), [':protocol', 'websocket']]],
  ['no :method', without(':method')],
  ['no :path', without(':path')],
  ['no :scheme', without(':scheme')],
  ['no :authority and no Host', without(':authority')],
  ['an empty :path', instead(':path', '')],
  ['an asterisk', instead(':path', '*')],
  ['an absolute :path', instead(':path', 'https://open.example/')],
  ['a :path with a space', instead(':path', '/a b')],
  ['a :path with a line break', instead(':path', '/a HTTP/1.1\r\nX: y')],
  ['a dot segment', instead(':path', '/a/../b')],
  ['two :path', [...good, [':path', '/other']]],
  ['two :authority', [...good, [':authority', 'open.example']]],
  ['a pseudo-field behind a field', [['x', 'y'], ...good]],
  ['an unknown pseudo-field', [...good, [':odd', 'x']]],
  ['another scheme', instead(':scheme', 'http')],
  ['a lower-case method', instead(':method', 'get')],
  ['a method with a space', instead(':method', 'GET /x HTTP/1.1')],
  ['a name in capitals', [...good, ['X-Upper', 'y']]],
  ['connection', [...good, ['connection', 'x-api-key']]],
  ['keep-alive', [...good, ['keep-alive', 'timeout=5']]],
  ['proxy-connection', [...good, ['proxy-connection', 'x']]],
  ['transfer-encoding', [...good, ['transfer-encoding', 'chunked']]],
  ['upgrade', [...good, ['upgrade', 'websocket']]],
  ['te other than trailers', [...good, ['te', 'gzip']]],
  ['a length behind an underscore', [...good, ['content_length', '5']]],
  ['a coding behind an underscore', [...good, ['transfer_encoding', 'chunked']]],
  ['two lengths', [...good, ['content-length', '0'], ['content-length', '1']]],
  ['a length of letters', [...good, ['content-length', 'x']]],
  ['a length without a body', [...good, ['content-length', '5']]],
  ['an unknown expectation', [...good, ['expect', 'x']]],
  ['a name with a colon', [...good, ['a:b', 'y']]],
  ['a name with a line break', [...good, ['a\r\nb', 'y']]],
  ['an empty name', [...good, ['', 'y']]],
  ['a value with a line break', [...good, ['x', 'a\r\nX-Injected: b']]],
  ['a value with an LF', [...good, ['x', 'a\nb']]],
  ['a value with a NUL', [...good, ['x', 'a\0b']]],
  ['two Hosts', [...good, ['host', 'api.example'], ['host', 'api.example']]],
];

/** The end of a request in good order, or its reset. */
function isLastOfStream({ type, flags, stream }: Frame): boolean {
  return stream !== 0 && (type === rstStream || (type <= 1 && (flags & endStream) !== 0));
}

describe('an HTTP/2 request that breaks the rules reaches nobody', () => {
  test.each(heads)('%s', async (_what, fields) => {
    await send(headersFrame(1, fields, endStream));
    expect(ground.upstream.bytes).toBe('');
  });

  test.each<[string, Buffer[]]>([
    ['less than its length', [headersFrame(1, [...post, ['content-length', '50']], 0), dataFrame(1, 'x', endStream)]],
    [
      'more than its length',
      [
        headersFrame(1, [...post, ['content-length', '1']], 0),
        dataFrame(1, 'xGET /hidden HTTP/1.1\r\n\r\n', endStream),
      ],
    ],
    [
      'authorization behind the body',
      [headersFrame(1, post, 0), dataFrame(1, 'x'), headersFrame(1, [['authorization', 'Bearer mine']], endStream)],
    ],
    [
      'a key behind the body',
      [headersFrame(1, post, 0), dataFrame(1, 'x'), headersFrame(1, [['x_api_key', 'mine']], endStream)],
    ],
    [
      'a length behind the body',
      [headersFrame(1, post, 0), dataFrame(1, 'x'), headersFrame(1, [['content-length', '1']], endStream)],
    ],
    [
      'a pseudo-field behind the body',
      [headersFrame(1, post, 0), dataFrame(1, 'x'), headersFrame(1, [[':path', '/hidden']], endStream)],
    ],
  ])('a body with %s is never finished', async (_what, frames) => {
    await send(...frames);
    expect(ground.upstream.requests).toEqual([]);
    expect(ground.upstream.bytes).not.toMatch(/hidden|mine/);
  });

  test('a field that may not come behind the body does not, to an HTTP/2 upstream either', async () => {
    const far = await startFrameUpstream(ground.ca, ['far.example']);
    const gateway = await startTestGateway({
      allow: [{ host: 'far.example' }],
      upstream: { resolve: { 'far.example': far.address }, ca: ground.ca.path },
    });
    await gateway.register();
    let done = 0;
    for (const [name, finished] of [
      ['x-sum', true],
      ['authorization', false],
    ] as const) {
      const options = { caPath: gateway.caPath, alpn: ['h2'] };
      const peer = new FramePeer(await openTls(gateway, 'far.example:443', options), false);
      const head = headersFrame(1, requestFields('far.example', 'POST', '/'), 0);
      peer.send(head, dataFrame(1, 'x'), headersFrame(1, [[name, 'mine']], endStream));
      const last = await eventually(
        () => far.frames.find((one) => one.stream > done && isLastOfStream(one)),
        'the stream ends',
      );
      expect(last.type === rstStream, name).toBe(!finished);
      done = last.stream;
      peer.socket.destroy();
    }
    await gateway.stop();
    await far.close();
  });

  test('the same frames, in order, pass', async () => {
    expect((await send(headersFrame(1, [...good, ['te', 'trailers'], ['x', 'caf\xe9']], endStream))).answered).toBe(
      true,
    );
    expect(ground.upstream.requests[0]!.head).toContain('x: caf\xe9\r\n');
    const trailer = headersFrame(1, [['x-sum', '1']], endStream);
    await send(headersFrame(1, post, 0), dataFrame(1, 'x'), trailer);
    expect(ground.upstream.requests.map(({ body }) => body)).toEqual(['1\r\nx\r\n0\r\nx-sum: 1\r\n\r\n']);
  });
});
