import type { ServerHttp2Stream } from 'node:http2';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { H2Exchange } from '../../../../../src/stages/accept/http/h2-exchange.ts';

const idleTimeoutMs = 600_000;
let sweeper: Sweeper;

beforeEach(() => {
  sweeper = new Sweeper();
});

afterEach(() => sweeper.stop());

/** A stream whose client has given no window: what is written stays. */
function open() {
  const stream = Object.assign(new PassThrough(), { headersSent: false, respond: vi.fn() });
  const settings = {
    sweeper,
    headBytes: 65_536,
    requestBodyBytes: 0,
    clientHeadTimeoutMs: 30_000,
    idleTimeoutMs,
    carriesCredential: () => false,
  };
  const hangUp = vi.fn(() => stream.destroy());
  const cutStream = vi.fn();
  const host = { settings, countUseful: () => {}, cutStream, hangUp, streamClosed: () => {} };
  const exchange = new H2Exchange(host, stream as unknown as ServerHttp2Stream, { kind: 'none' }, false);
  return { exchange, stream, hangUp, cutStream };
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
    const { exchange, stream, hangUp } = open();
    exchange.answer(...no([['Connection', 'close']]));
    expect(hangUp).toHaveBeenCalledTimes(1);
    expect(stream.respond).not.toHaveBeenCalled();
  });
});
