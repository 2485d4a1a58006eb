import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { errorCode, Http2Fault } from '../../../../../src/protocols/http2/http2-fault.ts';
import { H2Exchange } from '../../../../../src/stages/accept/http/h2-exchange.ts';
import { endStream, frame, headersFrame, requestFields } from '../../../../support/raw-http2.ts';
import { HandMadeServer } from '../../../protocols/http2/http2-peer.ts';

const idleTimeoutMs = 600_000;
let sweeper: Sweeper;

beforeEach(() => {
  sweeper = new Sweeper();
});

afterEach(() => sweeper.stop());

/** A stream whose client has given no window: what is written stays. */
function open() {
  const peer = new HandMadeServer();
  peer.feed(frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])));
  peer.feed(headersFrame(1, requestFields('a.example', 'GET', '/'), endStream));
  peer.take();
  const { stream, request } = peer.requests[0]!;
  const settings = {
    sweeper,
    headBytes: 65_536,
    requestBodyBytes: 0,
    clientHeadTimeoutMs: 30_000,
    idleTimeoutMs,
    carriesCredential: () => false,
  };
  const hangUp = vi.fn(() => peer.server.fail(new Http2Fault(errorCode.enhanceYourCalm, 'calm')));
  const cutStream = vi.fn();
  const parts = { settings, session: peer.server, takenBytes: 0, countUseful: () => {}, streamClosed: () => {} };
  const exchange = new H2Exchange({ ...parts, cutStream, hangUp }, stream, { kind: 'none' }, request);
  return { exchange, peer, hangUp, cutStream };
}

const no = (fields: [string, string][] = []) => [429, HeaderList.from(fields), Buffer.from('no')] as const;

describe('an answer of our own', () => {
  test('is a few words: who leaves them lying loses the stream long before idle_timeout_ms', () => {
    const { exchange, cutStream } = open();
    exchange.answer(...no());
    expect(exchange.deadlineMs).toBe(sweeper.deadlineIn(10_000));
    exchange.expire();
    expect(cutStream).toHaveBeenCalledTimes(1);
  });

  test('leaves an answer of the far side all the time there is', () => {
    const { exchange } = open();
    exchange.respond({ status: 200, reason: '', headers: new HeaderList(), framing: { kind: 'chunked' } }).end(null);
    expect(exchange.deadlineMs).toBe(sweeper.deadlineIn(idleTimeoutMs));
  });

  test('that ends the connection is not written but done', () => {
    const { exchange, peer, hangUp } = open();
    exchange.answer(...no([['Connection', 'close']]));
    expect(hangUp).toHaveBeenCalledTimes(1);
    expect(peer.take().filter(([type]) => type === 1)).toEqual([]);
  });
});

describe('an answer that the client does not take', () => {
  const head = { status: 200, reason: '', headers: new HeaderList(), framing: { kind: 'chunked' } } as const;

  test('is cut off when nothing of it moves, and the record says why', () => {
    const { exchange, cutStream } = open();
    const writer = exchange.respond(head);
    expect(writer.write(Buffer.alloc(100_000))).toBe(false);
    exchange.expire();
    expect(cutStream).toHaveBeenCalledTimes(1);
    expect(exchange.cut?.code).toBe('client.timeout');
  });

  test('goes on for as long as some of it moves', () => {
    const { exchange, peer, cutStream } = open();
    exchange.respond(head).write(Buffer.alloc(100_000));
    peer.feed(frame(8, 0, 1, Buffer.from([0, 0, 0, 1])));
    exchange.expire();
    expect(cutStream).not.toHaveBeenCalled();
    exchange.expire();
    expect(cutStream).toHaveBeenCalledTimes(1);
  });

  test('never looks whole when it broke off', () => {
    const { exchange, peer } = open();
    const writer = exchange.respond(head);
    writer.fail(new Error('the far side is gone'));
    writer.end(null);
    const frames = peer.take();
    expect(frames.map(([type]) => type)).toEqual([1, 3]);
    expect(frames.every(([, flags]) => (flags & endStream) === 0)).toBe(true);
  });
});
