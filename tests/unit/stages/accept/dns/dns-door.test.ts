import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { syntheticAddresses } from '../../../../../src/kit/synthetic-address.ts';
import { DnsStream } from '../../../../../src/stages/accept/dns/dns-door.ts';
import { DnsRate } from '../../../../../src/stages/accept/dns/dns-rate.ts';
import {
  addressesIn,
  type DnsGround,
  framed,
  openDnsGround,
  questionOf,
  readFramed,
  readReply,
} from '../../../../support/dns-ground.ts';
import { eventually } from '../../../../support/eventually.ts';

const { v4 } = syntheticAddresses('api.example.com');
let ground: DnsGround;

/** Long before the time limit of a connection, which would end it as well. */
function soon<T>(happening: Promise<T>): Promise<T> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('this did not happen soon')), 3000).unref();
  });
  return Promise.race([happening, late]);
}

afterEach(async () => {
  vi.useRealTimers();
  await ground.close();
});

describe('questions over UDP', () => {
  test('are answered one by one, and what is no question is not', async () => {
    ground = await openDnsGround();
    expect(addressesIn(await ground.udp(questionOf('api.example.com')))).toEqual([v4]);
    expect(await ground.udp(Buffer.from('hello'), 100)).toBeNull();
    expect(addressesIn(await ground.udp(questionOf('api.example.com')))).toEqual([v4]);
    expect(ground.lookups).toEqual(['api.example.com A', 'api.example.com A']);
  });

  test('over the rate they are refused without being decided, and that is told once', async () => {
    ground = await openDnsGround();
    const rcodes: number[] = [];
    let refused = 0;
    // 100 come back in a second: a slow machine has to ask more often.
    while (refused <= 50 && rcodes.length < 20_000) {
      const { rcodeNumber } = readReply(await ground.udp(questionOf('api.example.com')));
      rcodes.push(rcodeNumber);
      if (rcodeNumber === 5) refused++;
    }
    expect(ground.lookups.length).toBe(rcodes.length - refused);
    expect(rcodes.slice(0, 200)).toEqual(new Array(200).fill(0));
    expect(refused).toBeGreaterThan(50);
    expect(ground.floods).toHaveLength(1);
  });
});

describe('questions over TCP', () => {
  test('several on one connection, in one piece or byte by byte, are answered in order', async () => {
    ground = await openDnsGround();
    const socket = await ground.tcp();
    const questions = [1, 2, 3].map((id) => framed(questionOf('api.example.com', 'A', { id })));
    socket.write(Buffer.concat(questions));
    const replies = await readFramed(socket, 3);
    expect(replies.map((reply) => readReply(reply).id)).toEqual([1, 2, 3]);
    expect(replies.map(addressesIn)).toEqual([[v4], [v4], [v4]]);
    for (const byte of framed(questionOf('api.example.com', 'A', { id: 4 }))) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await readFramed(socket, 1)).map((reply) => readReply(reply).id)).toEqual([4]);
    socket.destroy();
  });

  test('a client that closes its side after its last question still gets the answer', async () => {
    ground = await openDnsGround();
    const socket = await ground.tcp();
    socket.end(framed(questionOf('api.example.com')));
    expect((await readFramed(socket, 2)).map(addressesIn)).toEqual([[v4]]);
  });

  test.each([
    ['a message that claims to be longer than any question', Buffer.from([0xff, 0xff, 1, 2, 3])],
    ['a message without anything in it', Buffer.from([0, 0])],
    ['an answer', framed(Buffer.from('000181800000000000000000', 'hex'))],
  ])('%s ends the connection', async (_what, bytes) => {
    ground = await openDnsGround();
    const socket = await ground.tcp();
    socket.on('error', () => {});
    socket.write(bytes);
    socket.resume();
    await soon(once(socket, 'close'));
    expect(ground.lookups).toEqual([]);
  });

  test('no more than 32 connections at a time, and an ended one makes room', async () => {
    ground = await openDnsGround();
    const sockets = await Promise.all(Array.from({ length: 32 }, () => ground.tcp()));
    const over = await ground.tcp();
    over.on('error', () => {});
    over.resume();
    await soon(once(over, 'close'));
    sockets[0]?.destroy();
    await eventually(async () => {
      const next = await ground.tcp();
      next.on('error', () => {});
      next.end(framed(questionOf('api.example.com')));
      return (await readFramed(next, 1).catch(() => [])).length === 1;
    }, 'a place among the connections');
    for (const socket of sockets) socket.destroy();
  });

  test('closing the door ends every connection', async () => {
    const doomed = await openDnsGround();
    const socket = await doomed.tcp();
    socket.on('error', () => {});
    socket.resume();
    const closed = once(socket, 'close');
    await soon(doomed.close());
    await soon(closed);
    ground = await openDnsGround();
    expect(socket.destroyed).toBe(true);
  });
});

describe('a connection that gets nowhere', () => {
  test('is cut after ten seconds, also when a byte comes now and then', async () => {
    ground = await openDnsGround();
    const { Duplex } = await import('node:stream');
    vi.useFakeTimers();
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    let isClosed = false;
    new DnsStream(
      socket as never,
      () => Buffer.from('reply'),
      () => {
        isClosed = true;
      },
    );
    const question = framed(questionOf('api.example.com'));
    socket.push(question);
    await vi.advanceTimersByTimeAsync(9_000);
    socket.push(question);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(isClosed).toBe(false);
    socket.push(question.subarray(0, 1));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(isClosed).toBe(true);
  });

  test('a client that reads no answers is not read from either, until it does', async () => {
    ground = await openDnsGround();
    const { Duplex } = await import('node:stream');
    let taken: () => void = () => {};
    const socket = new Duplex({
      read() {},
      write: (_chunk, _encoding, done) => {
        taken = done;
      },
      writableHighWaterMark: 16,
    });
    const stream = new DnsStream(
      socket as never,
      () => Buffer.alloc(40),
      () => {},
    );
    socket.push(framed(questionOf('api.example.com')));
    await eventually(() => socket.writableLength > 0, 'an answer');
    expect(socket.isPaused()).toBe(true);
    taken();
    await eventually(() => !socket.isPaused(), 'going on');
    stream.destroy();
  });
});

describe('the rate of questions', () => {
  test('is a burst of 200 and 100 a second after it, and a flood is told once a minute', async () => {
    ground = await openDnsGround();
    let nowMs = 0;
    let floods = 0;
    const rate = new DnsRate(
      () => {
        floods++;
      },
      () => nowMs,
      { burst: 200, perSecond: 100 },
    );
    const passed = (count: number): number => Array.from({ length: count }, () => rate.take()).filter(Boolean).length;
    expect(passed(300)).toBe(200);
    nowMs += 1000;
    expect(passed(300)).toBe(100);
    nowMs += 58_000;
    expect(passed(300)).toBe(200);
    expect(floods).toBe(1);
    nowMs += 1000;
    expect(passed(300)).toBe(100);
    expect(floods).toBe(2);
  });
});
