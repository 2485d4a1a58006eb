import { EventEmitter } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { H2Upstream } from '../../../../../src/stages/forward/dial/h2-sessions.ts';
import { KeptUpstreams } from '../../../../../src/stages/forward/dial/kept-upstreams.ts';

const enhanceYourCalm = 11;
const mebibyte = 1024 * 1024;

function open() {
  const ends: (number | undefined)[] = [];
  const session = {
    destroyed: false,
    close: () => ends.push(undefined),
    destroy: (_error?: Error, code?: number) => ends.push(code),
  };
  const socket = { bytesRead: 0, bytesWritten: 0 };
  const sweeper = { nowMs: 0, join: () => {}, leave: () => {} };
  const kept = new KeptUpstreams();
  const upstream = new H2Upstream(
    'sbx_1',
    session as unknown as ClientHttp2Session,
    { address: '192.0.2.1', socket: socket as Socket },
    { sweeper: sweeper as unknown as Sweeper, kept },
  );
  /** `count` frames of a body, with the heads they have. */
  const receive = (count: number, bytes: number): void => {
    socket.bytesRead += count * (bytes + 9);
    for (let n = 0; n < count; n++) upstream.countContent(bytes);
  };
  return { upstream, socket, sweeper, kept, ends, receive };
}

function streamOf(parts: { readableEnded?: boolean; unread?: number; pieces?: number } = {}): ClientHttp2Stream {
  return Object.assign(new EventEmitter(), {
    readableEnded: parts.readableEnded ?? false,
    readableLength: parts.unread ?? 0,
    _readableState: { buffer: { length: parts.pieces ?? 0 } },
  }) as unknown as ClientHttp2Stream;
}

describe('a session to an upstream is closed for what comes on it', () => {
  test('when it comes in pieces of a byte, beyond a burst and what time gives back', () => {
    const { upstream, sweeper, ends, receive } = open();
    receive(14_000, 1);
    upstream.expire();
    expect(upstream.tooMuch).toBeNull();
    sweeper.nowMs += 1000;
    receive(7_000, 1);
    upstream.expire();
    expect(upstream.tooMuch).toBeNull();
    receive(7_000, 1);
    upstream.expire();
    expect(upstream.tooMuch).toContain('carry nothing');
    expect(ends).toEqual([enhanceYourCalm]);
  });

  test('however many answers were broken off, or unfolded from little, before', () => {
    const { upstream, socket, ends } = open();
    for (let n = 0; n < 100; n++) {
      const stream = streamOf();
      upstream.streamOpened(stream);
      upstream.countHead({ 'x-large': 'y'.repeat(60_000) });
      stream.emit('close');
    }
    socket.bytesRead += 8 * mebibyte;
    upstream.expire();
    expect(upstream.tooMuch).toContain('carry nothing');
    expect(ends).toEqual([enhanceYourCalm]);
  });

  test('when it waits unread in more pieces than any use has', () => {
    const { upstream, socket, ends } = open();
    socket.bytesRead = 100_000;
    upstream.streamOpened(streamOf({ unread: 100_000, pieces: 20_000 }));
    upstream.expire();
    expect(upstream.tooMuch).toContain('pieces');
    expect(ends).toEqual([enhanceYourCalm]);
  });

  test('and never for a large answer, in frames of a few hundred bytes or more', () => {
    for (const bytes of [600, 1400, 16_384]) {
      const { upstream, ends, receive } = open();
      receive(Math.ceil((64 * mebibyte) / bytes), bytes);
      upstream.expire();
      expect(ends).toEqual([]);
    }
  });

  test('nor for what was on its way when the client broke off, nor for the window updates of an upload', () => {
    const { upstream, socket, ends } = open();
    const stream = streamOf();
    upstream.streamOpened(stream);
    socket.bytesRead += 256 * 1024;
    stream.emit('close');
    socket.bytesWritten += 1024 * mebibyte;
    socket.bytesRead += 4 * mebibyte;
    upstream.expire();
    expect(ends).toEqual([]);
  });
});

test('a session is among those that nobody uses until it is used: whoever it was dialled for may be gone', () => {
  const { upstream, kept } = open();
  expect(kept.size).toBe(1);
  upstream.streamOpened(streamOf());
  expect(kept.size).toBe(0);
  upstream.streamClosed();
  expect(kept.size).toBe(1);
  upstream.gone();
  expect(kept.size).toBe(0);
});
