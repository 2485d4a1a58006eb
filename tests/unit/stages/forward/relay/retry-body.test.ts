import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BodyWriter, Exchange, ResponseHead } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../../src/path/exchange/outgoing-request.ts';
import type { Forwarded } from '../../../../../src/path/flow.ts';
import type { Wrapped } from '../../../../../src/stages/forward/relay/relay-settings.ts';
import { KeepingRoom, maxKeptBytes, RetryBody } from '../../../../../src/stages/forward/relay/retry-body.ts';
import { RetryExchange } from '../../../../../src/stages/forward/relay/retry-exchange.ts';
import { retryUnauthorized } from '../../../../../src/stages/forward/relay/retry-unauthorized.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../support/hand-made-flow.ts';

/** Takes `room` chunks, then asks to wait. */
class Taker implements BodyWriter {
  onDrain: (() => void) | null = null;
  text = '';
  ended = false;
  failed = false;
  room: number;

  constructor(room = Number.POSITIVE_INFINITY) {
    this.room = room;
  }

  write(chunk: Buffer): boolean {
    this.text += chunk.toString('latin1');
    return --this.room > 0;
  }

  flush(): void {}

  end(): void {
    this.ended = true;
  }

  fail(): void {
    this.failed = true;
  }

  drain(room: number): void {
    this.room = room;
    this.onDrain?.();
  }
}

const write = (body: RetryBody, text: string): boolean => body.write(Buffer.from(text, 'latin1'));

describe('a body that may go out twice', () => {
  test('waits while it is held, and goes to the second from the beginning, at its pace', () => {
    const body = new RetryBody(new KeepingRoom().shareOf('one'));
    const first = new Taker();
    const second = new Taker(1);
    let resumed = 0;
    body.sendTo(first);
    body.onDrain = () => resumed++;
    expect(write(body, 'ab')).toBe(true);
    expect(write(body, 'cd')).toBe(true);
    body.hold();
    expect(write(body, 'ef')).toBe(false);
    expect(first.text).toBe('abcd');
    body.sendAgainTo(second);
    expect(second.text).toBe('abcd');
    expect(write(body, 'gh')).toBe(false);
    second.drain(1);
    expect(second.text).toBe('abcdef');
    expect(resumed).toBe(0);
    second.drain(5);
    expect(second.text).toBe('abcdefgh');
    expect(resumed).toBe(1);
    body.end(null);
    expect(second.ended).toBe(true);
    expect(first.ended).toBe(false);
  });

  test('goes on with the first where it stopped when there is no second', () => {
    const body = new RetryBody(new KeepingRoom().shareOf('one'));
    const first = new Taker();
    body.sendTo(first);
    write(body, 'ab');
    body.hold();
    write(body, 'cd');
    body.end(null);
    expect(first.ended).toBe(false);
    body.goOn();
    expect(first.text).toBe('abcd');
    expect(first.ended).toBe(true);
  });

  test('is repeated only if all of it was kept', () => {
    const body = new RetryBody(new KeepingRoom().shareOf('one'));
    body.sendTo(new Taker());
    body.write(Buffer.alloc(maxKeptBytes));
    expect(body.isRepeatable).toBe(true);
    body.write(Buffer.alloc(1));
    expect(body.isRepeatable).toBe(false);
  });

  test('is not kept where many others are, and gives its room back', () => {
    const room = new KeepingRoom(10, 10).shareOf('one');
    const [one, two, three] = [new RetryBody(room), new RetryBody(room), new RetryBody(room)];
    for (const body of [one, two, three]) body.sendTo(new Taker());
    write(one, '12345678');
    write(two, '123');
    expect([one.isRepeatable, two.isRepeatable]).toEqual([true, false]);
    one.letGo();
    one.letGo();
    write(three, '1234567890');
    expect(three.isRepeatable).toBe(true);
    expect(room.take(1)).toBe(false);
  });
});

describe('a renewal that takes too long', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is not waited for: the 401 passes on', async () => {
    const client = new Taker();
    let status = 0;
    const respond = (head: ResponseHead): BodyWriter => {
      status = head.status;
      return client;
    };
    const exchange = { form: 'payload', requestFraming: { kind: 'none' }, respond } as unknown as Exchange;
    const retry = new RetryExchange(exchange, new KeepingRoom().shareOf('one'));
    const flow = {
      ...acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example/')),
      exchange,
      wrapped: retry,
      sandbox: { id: 'one' },
      outgoing: new OutgoingRequest('/', new HeaderList()),
    } as unknown as Wrapped;
    let sent = 0;
    const done = retryUnauthorized(
      flow,
      retry,
      () => new Promise(() => {}),
      async (sending) => {
        sent++;
        const head = { status: 401, reason: '', headers: new HeaderList(), framing: { kind: 'chunked' } } as const;
        const writer = sending.wrapped.respond(head);
        writer.write(Buffer.from('no'));
        writer.end(null);
        return { ...sending, status: 401, upstreamAddress: null } as Forwarded;
      },
    );
    await vi.advanceTimersByTimeAsync(19_000);
    expect(status).toBe(0);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await done).status).toBe(401);
    expect([status, client.text, client.ended, sent]).toEqual([401, 'no', true, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
