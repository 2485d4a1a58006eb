// Attack: an upstream that is allowed answers over HTTP/2 in frames that carry nothing, or next to nothing. Each costs as much as
// a full one, and what nobody reads takes a hundred times its size. Its session ends, and no other.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startFarGateway } from '../../support/far-gateway.ts';
import {
  dataFrame,
  endStream,
  type FramePeer,
  type FrameUpstream,
  frame,
  goawayCode,
  headersFrame,
  startFrameUpstream,
} from '../../support/raw-http2.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import type { TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

const hostile = 'hostile.example';
const enhanceYourCalm = 11;
const [settings, windowUpdate] = [4, 8];
const initialWindowSize = 4;
const ok = [[':status', '200']] as const;
let far: FrameUpstream;
let other: FrameUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  far = await startFrameUpstream(ca, [hostile]);
  other = await startFrameUpstream(ca, ['large.example', 'words.example']);
  gateway = await startFarGateway(ca, { [hostile]: far, 'large.example': other, 'words.example': other });
});

afterAll(async () => {
  await gateway.stop();
  await far.close();
  await other.close();
});

/** What the gateway still takes on the stream, without what was sent. */
function windowOf(peer: FramePeer, stream: number): number {
  const updates = (of: number): number =>
    peer.frames
      .filter((one) => one.type === windowUpdate && one.stream === of)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  const first = peer.frames.find(({ type, flags }) => type === settings && flags === 0)?.payload ?? Buffer.alloc(0);
  let own = 65_535;
  for (let at = 0; at + 6 <= first.length; at += 6) {
    if (first.readUInt16BE(at) === initialWindowSize) own = first.readUInt32BE(at + 2);
  }
  return Math.min(own + updates(stream), 65_535 + updates(0));
}

/** Sends so many frames as fast as it may, until it is ended. `content`: what each takes of the window. */
async function flood(peer: FramePeer, stream: number, one: Buffer, content: number, most = 400_000): Promise<void> {
  let sent = 0;
  while (sent < most && !peer.closed) {
    const room = content === 0 ? most : Math.floor(windowOf(peer, stream) / content) - sent;
    const count = Math.max(0, Math.min(4096, room, most - sent));
    peer.send(Buffer.concat(Array(count).fill(one)));
    sent += count;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('the session ends that is full of', () => {
  test.each<[string, (stream: number) => Buffer, number]>([
    ['bodies in pieces of one byte', (stream) => dataFrame(stream, 'x'), 1],
    ['window updates', () => frame(windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1])), 0],
    ['frames of no kind', () => frame(0xfa, 0, 0, Buffer.alloc(8)), 0],
  ])('%s', async (what, one, content) => {
    let flooding: FramePeer | null = null;
    far.answerWith((stream, peer) => {
      flooding = peer;
      peer.send(headersFrame(stream, ok, 0));
      void flood(peer, stream, one(stream), content);
    });
    const session = await openHttp2(gateway, hostile, { caPath: gateway.caPath });
    const path = `/${what.replaceAll(' ', '-')}`;
    await expect(askHttp2(session, { ':path': path })).rejects.toThrow();
    expect(goawayCode(await eventually(() => flooding, 'the far side was asked'))).toBe(enhanceYourCalm);
    const record = await eventually(
      async () => (await gateway.journal()).find((line) => line.path === path && line.verdict === 'failed'),
      'it is in the journal',
    );
    // The HTTP/2 of newer versions of Node ends frames of no kind by itself, before we have looked.
    expect(`${record.code} ${record.reason}`).toMatch(
      /^upstream\.protocol .*sends .*again and again|^upstream\.closed .*Protocol error$/,
    );
    session.destroy();
  });

  test('pieces of one byte that nobody reads', async () => {
    let flooding: FramePeer | null = null;
    far.answerWith((stream, peer) => {
      flooding = peer;
      peer.send(headersFrame(stream, ok, 0));
      void flood(peer, stream, dataFrame(stream, 'x'), 1);
    });
    const session = await openHttp2(gateway, hostile, { caPath: gateway.caPath });
    const stream = session.request({ ':path': '/unread' });
    stream.on('error', () => {});
    stream.pause();
    await eventually(() => flooding?.closed, 'it is closed');
    expect(goawayCode(flooding!)).toBe(enhanceYourCalm);
    session.destroy();
  });
});

test.each<[string, string, string, number]>([
  ['pieces of the usual size', 'large.example', 'x'.repeat(8192), 1000],
  ['words that come one by one', 'words.example', 'data: {"delta":"word"}\n\n', 5000],
])('%s are passed on whole', async (_what, host, piece, most) => {
  other.answerWith((stream, peer) => {
    peer.send(headersFrame(stream, ok, 0));
    const sending = flood(peer, stream, dataFrame(stream, piece), piece.length, most);
    void sending.then(() => peer.send(dataFrame(stream, '', endStream)));
  });
  const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
  const { body } = await askHttp2(session, { ':path': '/' });
  expect(body.length).toBe(most * piece.length);
  session.destroy();
});
