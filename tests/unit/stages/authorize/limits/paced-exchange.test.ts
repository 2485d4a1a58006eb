import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import type { BodyWriter, Exchange, ResponseHead } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { openPace, PacedExchange, type Share } from '../../../../../src/stages/authorize/limits/paced-exchange.ts';

/** What was written, and whether it wants more. */
class Sink implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly chunks: Buffer[] = [];
  more = true;
  ended = false;
  failure: Error | null = null;

  write(chunk: Buffer): boolean {
    this.chunks.push(chunk);
    return this.more;
  }

  flush(): void {}

  end(): void {
    this.ended = true;
  }

  fail(reason: Error): void {
    this.failure = reason;
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }
}

/** The client's end: `client` takes the answer, `source` sends the body. */
function pretendExchange(form: 'wire' | 'payload' = 'wire') {
  const client = new Sink();
  let source: BodyWriter | null = null;
  const exchange = {
    form,
    requestFraming: { kind: 'chunked' },
    respond: () => client,
    goRaw: (to: BodyWriter) => {
      source = to;
      return client;
    },
    sendBody: (to: BodyWriter) => {
      source = to;
    },
    asPayload: () => pretendExchange('payload').exchange,
  } as unknown as Exchange;
  return { exchange, client, source: () => source! };
}

const share: Share = {
  up: 's:up',
  upRate: { perSecond: 100, burst: 1000 },
  down: 's:down',
  downRate: { perSecond: 100, burst: 1000 },
};
const wide: Share = {
  ...share,
  up: 'g:up',
  upRate: null,
  down: 'g:down',
  downRate: { perSecond: 1000, burst: 100_000 },
};
const head = (framing: ResponseHead['framing'], fields: [string, string][] = []): ResponseHead => ({
  status: 200,
  reason: 'OK',
  headers: HeaderList.from(fields),
  framing,
});

let nowMs = 0;
let meters: LocalMeters;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  nowMs = 0;
  meters = new LocalMeters(() => nowMs);
});

afterEach(() => {
  vi.useRealTimers();
});

function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 100) {
    nowMs += Math.min(100, left);
    vi.advanceTimersByTime(Math.min(100, left));
  }
}

function open(maxAnswerBytes = 0, shares: Share[] = [share, wide]) {
  const inner = pretendExchange();
  const pace = openPace(meters, shares, maxAnswerBytes);
  return { ...inner, pace, paced: new PacedExchange(inner.exchange, pace) };
}

describe('bodies are counted on every meter they belong to', () => {
  test('an answer that owes bytes is paused until they are paid, and nothing of it is lost', () => {
    const { paced, client } = open();
    const writer = paced.respond(head({ kind: 'chunked' }));
    const drained = vi.fn();
    writer.onDrain = drained;
    expect(writer.write(Buffer.alloc(1000))).toBe(true);
    expect(writer.write(Buffer.alloc(500))).toBe(false);
    expect(client.bytes).toBe(1500);
    expect(meters.left('g:down', wide.downRate!)).toBe(98_500);
    pass(4_900);
    expect(drained).not.toHaveBeenCalled();
    pass(200);
    expect(drained).toHaveBeenCalledTimes(1);
    writer.end(null);
    expect(client.ended).toBe(true);
  });

  test('a request body is paused the same way', () => {
    const { paced, source } = open();
    const upstream = new Sink();
    paced.sendBody(upstream);
    const resumed = vi.fn();
    source().onDrain = resumed;
    expect(source().write(Buffer.alloc(1100))).toBe(false);
    pass(1_100);
    expect(resumed).toHaveBeenCalledTimes(1);
    expect(upstream.bytes).toBe(1100);
  });

  test('raw bytes (tunnels, WebSockets) are paused both ways, each for itself', () => {
    const { paced, client, source } = open();
    const upstream = new Sink();
    const toClient = paced.goRaw(upstream);
    expect(source().write(Buffer.alloc(1500))).toBe(false);
    expect(toClient.write(Buffer.alloc(900))).toBe(true);
    expect(toClient.write(Buffer.alloc(900))).toBe(false);
    expect([upstream.bytes, client.bytes]).toEqual([1500, 1800]);
  });
});

describe('two reasons to pause are two', () => {
  test('bytes that are there again do not make a slow client faster', () => {
    const { paced, client } = open();
    const writer = paced.respond(head({ kind: 'chunked' }));
    const drained = vi.fn();
    writer.onDrain = drained;
    client.more = false;
    expect(writer.write(Buffer.alloc(1100))).toBe(false);
    pass(1_500);
    expect(drained).not.toHaveBeenCalled();
    client.onDrain!();
    expect(drained).toHaveBeenCalledTimes(1);
  });

  test('a client that reads again does not bring bytes', () => {
    const { paced, client } = open();
    const writer = paced.respond(head({ kind: 'chunked' }));
    const drained = vi.fn();
    writer.onDrain = drained;
    client.more = false;
    writer.write(Buffer.alloc(1100));
    client.onDrain!();
    expect(drained).not.toHaveBeenCalled();
    pass(1_100);
    expect(drained).toHaveBeenCalledTimes(1);
  });

  test('whoever was told to stop and goes on stays paused', () => {
    const { paced } = open();
    const writer = paced.respond(head({ kind: 'chunked' }));
    writer.write(Buffer.alloc(1100));
    expect(writer.write(Buffer.alloc(0))).toBe(false);
  });
});

describe('nothing waits for a flow that is over', () => {
  test.each(['stop', 'end', 'fail'] as const)('%s', (how) => {
    const { paced, pace } = open();
    const writer = paced.respond(head({ kind: 'chunked' }));
    const drained = vi.fn();
    writer.onDrain = drained;
    writer.write(Buffer.alloc(5000));
    expect(vi.getTimerCount()).toBe(1);
    if (how === 'stop') pace.stop();
    else if (how === 'end') writer.end(null);
    else writer.fail(new Error('gone'));
    expect(vi.getTimerCount()).toBe(0);
    if (how === 'stop') expect(writer.write(Buffer.alloc(5000))).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    pass(60_000);
    expect(drained).not.toHaveBeenCalled();
  });
});

describe('an answer has a length that it may not pass', () => {
  const noBytes: Share = { ...share, upRate: null, downRate: null };

  test('one that says it is longer is refused before anything is sent', () => {
    const { paced, exchange } = open(1000, [noBytes]);
    const respond = vi.spyOn(exchange, 'respond');
    for (const long of [
      head({ kind: 'length', bytes: 1001 }),
      // As it comes over HTTP/2.
      head({ kind: 'chunked' }, [['Content-Length', '1001']]),
    ]) {
      expect(() => paced.respond(long)).toThrow(
        expect.objectContaining({ code: 'limit.response-size', status: 502, rule: 'limits.response_body_bytes' }),
      );
    }
    expect(respond).not.toHaveBeenCalled();
    expect(paced.respond(head({ kind: 'length', bytes: 1000 })).write(Buffer.alloc(1000))).toBe(true);
  });

  test('one that does not say so is broken off, and never ended', () => {
    const { paced, client } = open(1000, [noBytes]);
    const writer = paced.respond(head({ kind: 'chunked' }));
    expect(writer.write(Buffer.alloc(600))).toBe(true);
    expect(() => writer.write(Buffer.alloc(600))).toThrow('the answer is longer than 1000 bytes');
    expect([client.bytes, client.ended]).toEqual([600, false]);
  });

  test('the answer to HEAD tells a length that it does not have', () => {
    const { paced } = open(1000, [noBytes]);
    expect(paced.respond(head({ kind: 'none' }, [['Content-Length', '5000']]))).toBeDefined();
  });
});

test('heads, interim answers and trailers count as bytes, without being held back', () => {
  const { exchange, source } = pretendExchange();
  Object.assign(exchange, { inform: () => {} });
  const paced = new PacedExchange(exchange, openPace(meters, [share], 0));
  const fields: [string, string][] = [['x-carried', 'x'.repeat(1600)]];
  const downMs = (): number => Number(meters.debtMs('s:down', share.downRate!));
  paced.inform(103, HeaderList.from(fields));
  const afterInterim = downMs();
  expect(afterInterim).toBeGreaterThan(0);
  const writer = paced.respond(head({ kind: 'chunked' }, fields));
  const afterHead = downMs();
  expect(afterHead).toBeGreaterThan(afterInterim);
  writer.end(HeaderList.from(fields));
  expect(downMs()).toBeGreaterThan(afterHead);
  paced.sendBody(new Sink());
  source().end(HeaderList.from(fields));
  expect(Number(meters.debtMs('s:up', share.upRate!))).toBeGreaterThan(0);
});
