import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import {
  dataFrame,
  endStream,
  FramePeer,
  type FrameUpstream,
  headersFrame,
  requestFields,
  resetFrame,
  startFrameUpstream,
} from '../../support/raw-http2.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';

// As in an-upstream-brings-the-gateway-down: what nobody catches is a failure of this file.

let ground: AttackGround;
let frames: FrameUpstream;
let stuck: FrameUpstream;
let far: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  ground = await openAttackGround();
  frames = await startFrameUpstream(ground.ca, ['frames.example']);
  stuck = await startFrameUpstream(ground.ca, ['stuck.example'], 0);
  far = await startFakeUpstream(ground.ca, ['far.example']);
  gateway = await startTestGateway({
    allow: ['frames', 'wrong', 'stuck', 'far'].map((name) => ({ host: `${name}.example` })),
    upstream: {
      resolve: {
        'frames.example': frames.address,
        'wrong.example': frames.address,
        'stuck.example': stuck.address,
        'far.example': far.address,
      },
      ca: ground.ca.path,
    },
  });
  await gateway.register();
  frames.answerWith((stream, peer) => peer.send(headersFrame(stream, [[':status', '200']], endStream)));
});

afterAll(async () => {
  await gateway.stop();
  await frames.close();
  await stuck.close();
  await far.close();
  await ground.stop();
});

async function peerTo(door: TestGateway, host: string): Promise<FramePeer> {
  const tls: TLSSocket = await openTls(door, `${host}:443`, { caPath: door.caPath, alpn: ['h2'] });
  return new FramePeer(tls, false);
}

async function stillServes(door: TestGateway, host: string): Promise<void> {
  const peer = await peerTo(door, host);
  peer.send(headersFrame(1, requestFields(host, 'GET', '/'), endStream));
  await eventually(() => peer.outcome(1).answered, 'a well-formed request is answered');
  peer.socket.destroy();
}

const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('frames that no library would send', () => {
  const post = requestFields('frames.example', 'POST', '/');

  test.each<[string, Buffer[]]>([
    [
      'a trailer that HTTP/2 does not have',
      [headersFrame(1, post, 0), dataFrame(1, 'x'), headersFrame(1, [['http2-settings', 'x']], endStream)],
    ],
    [
      'a trailer twice that may stand once',
      [
        headersFrame(1, post, 0),
        dataFrame(1, 'x'),
        headersFrame(
          1,
          [
            ['etag', 'a'],
            ['etag', 'b'],
          ],
          endStream,
        ),
      ],
    ],
    [
      'a field twice that may stand once',
      [headersFrame(1, [...post, ['user-agent', 'a'], ['user-agent', 'b']], endStream)],
    ],
    ['http2-settings', [headersFrame(1, [...post, ['http2-settings', 'x']], endStream)]],
    [
      'fields named like parts of an object',
      [headersFrame(1, [...post, ['__proto__', 'a'], ['constructor', 'b']], endStream)],
    ],
    [
      'an expectation and a reset',
      [headersFrame(1, [...post, ['expect', '100-continue']], 0), dataFrame(1, 'x'), resetFrame(1, 0)],
    ],
    [
      'a reset in good order with a body unread',
      [headersFrame(1, post, 0), dataFrame(1, 'x'.repeat(9000)), resetFrame(1, 0)],
    ],
    ['bytes above ASCII in a value', [headersFrame(1, [...post, ['x', 'a\xc4\x8ab']], endStream)]],
    ['data on a stream that is not there', [dataFrame(7, 'x')]],
    ['a stream of the other side', [headersFrame(2, post, endStream)]],
  ])('%s', async (_what, bytes) => {
    for (const host of ['frames.example', 'wrong.example']) {
      const peer = await peerTo(gateway, host);
      peer.send(...bytes);
      await settle(15);
      peer.socket.destroy();
    }
    const h1 = await peerTo(ground.gateway, 'api.example');
    h1.send(...bytes);
    await settle(15);
    h1.socket.destroy();
    await stillServes(gateway, 'frames.example');
    await stillServes(ground.gateway, 'api.example');
  });

  test('a field named like part of an object arrives as it was sent', async () => {
    far.seen.length = 0;
    const peer = await peerTo(gateway, 'far.example');
    peer.send(headersFrame(1, [...requestFields('far.example', 'GET', '/'), ['constructor', 'mine']], endStream));
    await eventually(() => peer.outcome(1).answered, 'it is answered');
    expect(far.seen[0]).toMatchObject({ httpVersion: '2.0', headers: { constructor: 'mine' } });
    peer.socket.destroy();
  });

  test('a reset while its body waits for an upstream that does not read, and an answer to it then', async () => {
    // First one that is answered: from then on the gateway knows that it may send no body there.
    const ok = (stream: number): Buffer => headersFrame(stream, [[':status', '200']], endStream);
    stuck.answerWith((stream, peer) => peer.send(ok(stream)));
    await stillServes(gateway, 'stuck.example');
    let answerNow: (() => void) | null = null;
    stuck.answerWith((stream, peer) => {
      answerNow = () => peer.send(ok(stream));
    });
    const peer = await peerTo(gateway, 'stuck.example');
    peer.send(headersFrame(1, requestFields('stuck.example', 'POST', '/'), 0));
    for (let n = 0; n < 4; n++) peer.send(dataFrame(1, 'x'.repeat(15_000)));
    const answerLate = await eventually(() => answerNow, 'the head arrives');
    await settle(30);
    peer.send(resetFrame(1, 0));
    await settle(30);
    answerLate();
    await settle(30);
    peer.socket.destroy();
    await stillServes(gateway, 'frames.example');
  });

  test('a thousand streams that are reset at once', async () => {
    for (const [door, host] of [
      [gateway, 'frames.example'],
      [ground.gateway, 'api.example'],
    ] as const) {
      const peer = await peerTo(door, host);
      for (let stream = 1; stream < 2_000; stream += 2) {
        peer.send(headersFrame(stream, requestFields(host, 'GET', '/'), endStream), resetFrame(stream, 8));
      }
      await settle(100);
      peer.socket.destroy();
      await stillServes(door, host);
    }
  });
});

describe('connections that end at the worst moment', () => {
  test.each([
    ['before a byte', ''],
    ['within CONNECT', 'CONNECT api.exam'],
    ['after CONNECT', 'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n'],
    [
      'within the handshake',
      'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n\x16\x03\x01\x02\x00\x01',
    ],
    [
      'with noise for a handshake',
      `CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n\x16\x03\x01\x00\x05${'\xff'.repeat(50)}`,
    ],
    [
      'with a handshake that never ends',
      `CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n${'\x16\x03\x01\x40\x00'.padEnd(45_000, '\x01')}`,
    ],
  ])('%s', async (_what, bytes) => {
    for (const reset of [true, false]) {
      const socket = connect(ground.gateway.port, ground.gateway.host);
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(bytes, 'latin1');
      await settle(10);
      if (reset) socket.resetAndDestroy();
      else socket.destroy();
    }
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.statuses).toEqual([200]);
  });
});
