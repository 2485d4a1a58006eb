import { describe, expect, test } from 'vitest';
import { BodyPull, pump } from '../../../../src/path/exchange/body-pull.ts';
import { ClientGone } from '../../../../src/path/exchange/client-gone.ts';
import { RecordingWriter, ScriptedExchange } from './scripted-exchange.ts';

const maxWaitingBytes = 256 * 1024;
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function allOf(pull: BodyPull): Promise<string[]> {
  const seen: string[] = [];
  for await (const chunk of pull) seen.push(chunk.toString('latin1'));
  return seen;
}

describe('a body is drawn in the order it comes and no faster than it is read', () => {
  test('chunks that came before and after they were asked for', async () => {
    const exchange = new ScriptedExchange();
    const pull = BodyPull.from(exchange);
    exchange.to?.write(bytes('a'));
    exchange.to?.write(bytes('b'));
    const seen = allOf(pull);
    await turn();
    exchange.to?.write(bytes('c'));
    await turn();
    exchange.to?.flush();
    exchange.to?.end(null);
    expect(await seen).toEqual(['a', 'b', 'c']);
    expect(await pull.next()).toBeNull();
  });

  test('many tiny pieces that wait are put together, large ones are not copied, and the order stays', async () => {
    const pull = new BodyPull();
    const large = Buffer.alloc(2_000, 'L');
    const sent: string[] = [];
    for (let i = 0; i < 100_000; i++) {
      const piece = i === 70_000 ? large : bytes(String(i % 10));
      sent.push(piece.toString('latin1'));
      pull.write(piece);
    }
    pull.end();
    const pieces: Buffer[] = [];
    for await (const chunk of pull) pieces.push(chunk);
    expect(Buffer.concat(pieces).toString('latin1')).toBe(sent.join(''));
    expect(pieces.length).toBeLessThan(80);
    expect(pieces).toContain(large);
  });

  test('an empty body ends at once', async () => {
    const pull = new BodyPull();
    pull.end();
    expect(await allOf(pull)).toEqual([]);
  });

  test('the sender is asked to wait once a quarter of a mebibyte waits, and to go on when all of it is taken', async () => {
    const pull = new BodyPull();
    let drains = 0;
    pull.onDrain = () => drains++;
    expect(pull.write(Buffer.alloc(maxWaitingBytes - 1))).toBe(true);
    expect(pull.write(Buffer.alloc(1))).toBe(false);
    await pull.next();
    expect(drains).toBe(0);
    await pull.next();
    expect(drains).toBe(1);
    expect(pull.write(Buffer.alloc(1))).toBe(true);
  });
});

describe('a body that breaks off is never taken for a whole one', () => {
  test('the next read throws, also when bytes were still waiting and the end was already told', async () => {
    const pull = new BodyPull();
    pull.write(bytes('a'));
    pull.fail(new ClientGone());
    pull.end();
    await expect(pull.next()).rejects.toThrow(ClientGone);
    await expect(allOf(pull)).rejects.toThrow(ClientGone);
  });

  test('who is waiting is woken, and the first reason holds', async () => {
    const pull = new BodyPull();
    const waiting = pull.next();
    pull.fail(new ClientGone());
    pull.fail(new Error('a later one'));
    await expect(waiting).rejects.toThrow(ClientGone);
    await expect(pull.next()).rejects.toThrow(ClientGone);
  });
});

async function* source(...chunks: (string | Error)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield bytes(chunk);
  }
}

describe('a pump writes all of a source and waits where it is asked to', () => {
  test('in order, and then the end', async () => {
    const to = new RecordingWriter();
    await pump(source('a', 'b'), to);
    expect([to.text, to.ended, to.failure]).toEqual(['ab', null, null]);
  });

  test('not a byte more until the receiver has drained', async () => {
    const to = new RecordingWriter();
    to.more = false;
    const pumping = pump(source('a', 'b'), to);
    for (let i = 0; i < 5; i++) await turn();
    expect([to.text, to.ended]).toEqual(['a', undefined]);
    to.more = true;
    to.onDrain?.();
    await pumping;
    expect([to.text, to.ended]).toEqual(['ab', null]);
    // A drain that nobody waits for is no harm.
    to.onDrain?.();
    expect(to.text).toBe('ab');
  });

  test('a source that breaks off fails the receiver, which must not see an end', async () => {
    const to = new RecordingWriter();
    const reason = new Error('the disk is gone');
    await pump(source('a', reason), to);
    expect([to.text, to.ended, to.failure]).toEqual(['a', undefined, reason]);
  });

  test('so does a receiver that cannot take a chunk, and what is no Error becomes one', async () => {
    const to = new RecordingWriter();
    to.write = () => {
      throw 'full';
    };
    await pump(source('a'), to);
    expect([to.ended, to.failure?.message]).toEqual([undefined, 'full']);
  });
});
