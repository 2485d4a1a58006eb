import { describe, expect, test } from 'vitest';
import { preface } from '../../../../src/protocols/http2/frame-format.ts';
import {
  dataFrame,
  endStream,
  frame,
  headersFrame,
  hpack,
  requestFields,
  resetFrame,
} from '../../../support/raw-http2.ts';
import { HandMadeServer, limits } from './http2-peer.ts';

const noFields = { names: [], values: [] };
const host = 'a.example';
const get = (stream: number): Buffer => headersFrame(stream, requestFields(host, 'GET', '/'), endStream);
const post = (stream: number): Buffer => headersFrame(stream, requestFields(host, 'POST', '/'), 0);
const acknowledged = frame(4, 1, 0, Buffer.alloc(0));
const window = (stream: number, bytes: number): Buffer => frame(8, 0, stream, word(bytes));
const initialWindow = (bytes: number): Buffer => frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), word(bytes)]));

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** One with a request under way. */
function asked(request = get(1)): { peer: HandMadeServer; arrived: HandMadeServer['requests'][number] } {
  const peer = new HandMadeServer();
  peer.feed(request);
  peer.take();
  return { peer, arrived: peer.requests[0]! };
}

describe('a connection begins', () => {
  test('with our settings, our window, and the acknowledgement of theirs', () => {
    const frames = new HandMadeServer().take();
    expect(frames.map(([type, flags, stream]) => [type, flags, stream])).toEqual([
      [4, 0, 0],
      [8, 0, 0],
      [4, 1, 0],
    ]);
    expect(frames[1]![3].readUInt32BE(0)).toBe(limits.sessionWindowBytes - 65_535);
  });

  test.each([1, 2, 5, 23])('however it is cut: pieces of %d bytes', (size) => {
    const peer = new HandMadeServer(false);
    const padded = frame(0, 8, 1, Buffer.from([2, 0x68, 0x69, 0, 0]));
    const all = Buffer.concat([
      preface,
      frame(4, 0, 0, Buffer.alloc(0)),
      post(1),
      padded,
      dataFrame(1, '!', endStream),
    ]);
    for (let at = 0; at < all.length; at += size) peer.feed(all.subarray(at, at + size));
    expect(peer.requests.map(({ content, trailers }) => [content.toString(), trailers])).toEqual([['hi!', null]]);
  });

  test.each([
    ['HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['something else after the first bytes', Buffer.from('PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n')],
    ['a frame that is not SETTINGS', Buffer.concat([preface, frame(6, 0, 0, Buffer.alloc(8))])],
    ['an acknowledgement', Buffer.concat([preface, acknowledged])],
  ])('or not at all: %s', (_what, bytes) => {
    const peer = new HandMadeServer(false);
    peer.feed(bytes);
    expect(peer.fault?.code).toBe(1);
  });
});

describe('an answer', () => {
  test('of a few bytes is one write, and the end stands in its last frame', async () => {
    const { peer, arrived } = asked();
    const { sender } = peer.server;
    sender.head(arrived.stream, 200, { names: ['content-length'], values: ['2'] });
    sender.content(arrived.stream, Buffer.from('hi'));
    sender.end(arrived.stream, null);
    expect(peer.writes).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(peer.writes).toHaveLength(1);
    expect(peer.take().map(([type, flags, stream, payload]) => [type, flags, stream, payload.length])).toEqual([
      [1, 4, 1, expect.any(Number)],
      [0, 1, 1, 2],
    ]);
    expect(arrived.closed).toEqual({ byPeer: false, fault: null });
  });

  test('without a body ends with its head', () => {
    const { peer, arrived } = asked();
    peer.server.sender.head(arrived.stream, 304, noFields);
    peer.server.sender.end(arrived.stream, null);
    expect(peer.take().map(([type, flags]) => [type, flags])).toEqual([[1, 5]]);
  });

  test('that has left already ends with an empty frame, or with its trailers', () => {
    for (const trailers of [null, { names: ['x-sum'], values: ['1'] }]) {
      const { peer, arrived } = asked();
      peer.server.sender.head(arrived.stream, 200, noFields);
      peer.server.sender.content(arrived.stream, Buffer.from('hi'));
      peer.take();
      peer.server.sender.end(arrived.stream, trailers);
      expect(peer.take().map(([type, flags]) => [type, flags])).toEqual([trailers === null ? [0, 1] : [1, 5]]);
    }
  });

  test('to a body that is not read to its end tells the client to stop', () => {
    const { peer, arrived } = asked(post(1));
    peer.server.sender.head(arrived.stream, 413, noFields);
    peer.server.sender.end(arrived.stream, null);
    // Not in one write with the answer, which some clients would lose.
    expect(peer.take().map(([type]) => type)).toEqual([1]);
    peer.server.stopUnread();
    expect(peer.take()).toEqual([]);
    peer.server.stopUnread();
    expect(peer.take().map(([type, , , payload]) => [type, payload.readUInt32BE(0)])).toEqual([[3, 0]]);
    // What was under way is dropped, and no fault.
    peer.feed(dataFrame(1, 'x', endStream));
    expect([peer.fault, arrived.content.length]).toEqual([null, 0]);
  });

  test('to a body whose end comes right behind needs no such word', () => {
    const { peer, arrived } = asked(post(1));
    peer.server.sender.head(arrived.stream, 413, noFields);
    peer.server.sender.end(arrived.stream, null);
    peer.feed(dataFrame(1, 'x', endStream));
    peer.take();
    peer.server.stopUnread();
    peer.server.stopUnread();
    expect(peer.take()).toEqual([]);
  });

  test('with a head of more than a frame goes on in continuations', () => {
    const { peer, arrived } = asked();
    const value = 'v'.repeat(40_000);
    peer.server.sender.head(arrived.stream, 200, { names: ['x'], values: [value] });
    peer.server.sender.end(arrived.stream, null);
    expect(peer.take().map(([type, flags]) => [type, flags])).toEqual([
      [1, 0],
      [9, 0],
      [9, 4],
      [0, 1],
    ]);
  });

  test('with a field that cannot be written was not begun', () => {
    const { peer, arrived } = asked();
    expect(() => peer.server.sender.head(arrived.stream, 200, { names: ['x'], values: ['a\nb'] })).toThrow();
    expect(peer.take()).toEqual([]);
  });
});

describe('what the client does not allow waits', () => {
  test('for the window of the stream, of the connection, and a new initial window', () => {
    const peer = new HandMadeServer();
    peer.feed(initialWindow(10), get(1));
    const { stream } = peer.requests[0]!;
    peer.take();
    const { sender } = peer.server;
    const body = Buffer.alloc(100_000, 'y');
    sender.head(stream, 200, noFields);
    expect(sender.content(stream, body)).toBe(false);
    sender.end(stream, null);
    const sent = (): number => HandMadeServer.contentOf(peer.take(), 1).length;
    expect(sent()).toBe(10);
    peer.feed(window(1, 5));
    expect(sent()).toBe(5);
    peer.feed(initialWindow(15));
    expect(sent()).toBe(5);
    peer.feed(window(1, 99_980));
    expect(sent()).toBe(65_535 - 20);
    peer.feed(window(0, 100_000));
    expect(sent()).toBe(100_000 - 65_535);
    expect(peer.requests[0]!.closed).toEqual({ byPeer: false, fault: null });
  });

  test('for a window that was made smaller than what is under way', () => {
    const { peer, arrived } = asked();
    const { sender } = peer.server;
    sender.head(arrived.stream, 200, noFields);
    sender.content(arrived.stream, Buffer.alloc(1000));
    peer.feed(initialWindow(0), window(1, 1100));
    sender.content(arrived.stream, Buffer.alloc(500));
    expect(HandMadeServer.contentOf(peer.take(), 1).length).toBe(1100);
  });

  test('for the socket, and the source is told when to go on', () => {
    const { peer, arrived } = asked();
    const { sender } = peer.server;
    peer.feed(window(1, 1_000_000), window(0, 1_000_000));
    sender.head(arrived.stream, 200, noFields);
    peer.takes = false;
    expect(sender.content(arrived.stream, Buffer.alloc(200_000))).toBe(false);
    expect(sender.content(arrived.stream, Buffer.alloc(200_000))).toBe(false);
    expect(HandMadeServer.contentOf(peer.take(), 1).length).toBe(200_000);
    expect(arrived.drained).toBe(0);
    peer.takes = true;
    peer.server.drained();
    expect(arrived.drained).toBe(1);
    expect(HandMadeServer.contentOf(peer.take(), 1).length).toBe(200_000);
  });

  test('in turns: no stream waits for the whole of another', () => {
    const peer = new HandMadeServer();
    peer.feed(initialWindow(1_000_000), get(1), get(3));
    peer.take();
    const { sender } = peer.server;
    const streams = peer.requests.map(({ stream }) => stream);
    for (const stream of streams) sender.head(stream, 200, noFields);
    peer.takes = false;
    sender.content(streams[0]!, Buffer.alloc(500_000));
    sender.content(streams[1]!, Buffer.alloc(500_000));
    peer.take();
    peer.takes = true;
    peer.server.drained();
    peer.feed(window(0, 200_000));
    const frames = peer.take();
    expect(HandMadeServer.contentOf(frames, 1).length).toBeGreaterThan(60_000);
    expect(HandMadeServer.contentOf(frames, 3).length).toBeGreaterThan(60_000);
  });
});

describe('what the client sends', () => {
  const piece = frame(0, 0, 1, Buffer.alloc(16_384));

  test('is taken as long as somebody takes it, and given back in large steps', () => {
    const { peer, arrived } = asked(post(1));
    let updates = 0;
    for (let n = 0; n < 64; n++) {
      peer.feed(piece);
      peer.server.taken(arrived.stream, 16_384);
      updates += peer.take().filter(([type]) => type === 8).length;
    }
    expect(arrived.content.length).toBe(64 * 16_384);
    expect(updates).toBeLessThanOrEqual(8 + 2);
  });

  test('and nobody takes ends at the window of its stream', () => {
    const { peer, arrived } = asked(post(1));
    for (let n = 0; n < 16; n++) peer.feed(piece);
    expect(arrived.closed).toBe(null);
    peer.feed(dataFrame(1, 'x'));
    expect(arrived.closed).toMatchObject({ byPeer: true, fault: expect.stringContaining('more content') });
    expect(
      peer
        .take()
        .filter(([type, , stream]) => type === 3 && stream === 1)[0]![3]
        .readUInt32BE(0),
    ).toBe(3);
  });

  test('as padding is given back too', () => {
    const { peer, arrived } = asked(post(1));
    const padded = frame(0, 8, 1, Buffer.concat([Buffer.from([250]), Buffer.alloc(250)]));
    for (let n = 0; n < 3000; n++) peer.feed(padded);
    expect([arrived.content.length, arrived.closed]).toEqual([0, null]);
  });

  test('once too many requests is refused, and its head is read all the same', () => {
    const peer = new HandMadeServer();
    const indexed = Buffer.concat([hpack(requestFields(host, 'GET', '/')), Buffer.from([0x40, 1, 0x78, 1, 0x79])]);
    for (let n = 0; n < 129; n++) peer.feed(n < 128 ? get(2 * n + 1) : frame(1, 5, 2 * n + 1, indexed));
    expect([peer.requests.length, peer.refused]).toEqual([128, 1]);
    peer.feed(resetFrame(1, 8));
    peer.feed(frame(1, 5, 259, Buffer.concat([hpack(requestFields(host, 'GET', '/')), Buffer.from([0xbe])])));
    expect(peer.requests.at(-1)!.request).toMatchObject({ names: ['x'], values: ['y'] });
  });

  test('as pings is answered, until the answers are not taken', () => {
    const peer = new HandMadeServer();
    peer.take();
    const ping = frame(6, 0, 0, Buffer.from('12345678'));
    peer.feed(ping);
    expect(peer.take().map(([type, flags, , payload]) => [type, flags, payload.toString()])).toEqual([
      [6, 1, '12345678'],
    ]);
    peer.takes = false;
    peer.feed(ping);
    peer.take();
    peer.feed(...Array(2000).fill(ping));
    expect(peer.fault?.code).toBe(11);
  });
});

describe('leaving', () => {
  test('says which request was the last, refuses those behind it, and is done when nothing is open', () => {
    const { peer, arrived } = asked();
    peer.server.leave();
    peer.feed(get(3));
    const frames = peer.take();
    expect(frames.map(([type, , stream]) => [type, stream])).toEqual([
      [7, 0],
      [3, 3],
    ]);
    expect([frames[0]![3].readUInt32BE(0), frames[1]![3].readUInt32BE(0)]).toEqual([1, 7]);
    expect([peer.requests.length, peer.done]).toEqual([1, 0]);
    peer.server.sender.head(arrived.stream, 204, noFields);
    peer.server.sender.end(arrived.stream, null);
    expect(peer.done).toBe(1);
  });

  test('of the client lets what is open end', () => {
    const { peer, arrived } = asked();
    peer.feed(frame(7, 0, 0, Buffer.alloc(8)));
    expect([peer.done, arrived.closed]).toEqual([0, null]);
    peer.feed(resetFrame(1, 8));
    expect([peer.done, arrived.closed]).toEqual([1, { byPeer: true, fault: null }]);
  });

  test('for a fault closes all streams, and nothing is read or written any more', () => {
    const { peer, arrived } = asked(post(1));
    peer.feed(Buffer.concat([dataFrame(0, 'x'), dataFrame(1, 'late')]));
    expect(peer.fault?.code).toBe(1);
    expect([arrived.content.length, arrived.closed?.byPeer]).toEqual([0, false]);
    peer.take();
    peer.server.sender.content(arrived.stream, Buffer.from('late'));
    peer.feed(get(3));
    expect([peer.take(), peer.requests.length]).toEqual([[], 1]);
  });
});
