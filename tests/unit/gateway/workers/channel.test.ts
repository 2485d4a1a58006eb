import { describe, expect, test, vi } from 'vitest';
import { Channel } from '../../../../src/gateway/workers/channel.ts';
import { StoreUnavailable } from '../../../../src/path/shared-store.ts';
import { pairedChannels, pairedEnds } from './paired-channels.ts';

type Doubling = { readonly double: { readonly body: number; readonly answer: number } };
type Nothing = Record<never, never>;

function doubling(onNonsense: (error: Error) => void = () => {}) {
  const handlers = {
    double: (body: number) => {
      if (body < 0) throw new Error('less than nothing');
      return body * 2;
    },
  };
  const readers = {
    double(body: unknown) {
      if (typeof body !== 'number') throw new Error('no number');
      return body;
    },
  };
  const quiet = { handlers: {}, onNonsense: () => {} };
  return pairedChannels<Doubling, Nothing>({ handlers, readers, onNonsense }, quiet);
}

describe('a channel between two processes of a gateway', () => {
  test('brings each answer to its question', async () => {
    const [, asking] = doubling();
    expect(await Promise.all([asking.ask('double', 2), asking.ask('double', 3)])).toEqual([4, 6]);
  });

  test('what comes before anybody answers waits, in order', async () => {
    const { one, other } = pairedEnds();
    const answering = new Channel<Nothing, Doubling>(one);
    const asking = new Channel<Doubling, Nothing>(other);
    const answers = [asking.ask('double', 1), asking.ask('double', 2)];
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const heard: number[] = [];
    answering.answer({ handlers: { double: (body) => heard.push(body) && body * 2 }, onNonsense: () => {} });
    expect(heard).toEqual([1, 2]);
    expect(await Promise.all(answers)).toEqual([2, 4]);
  });

  test('what the other side cannot do is told in its words', async () => {
    const [, asking] = doubling();
    await expect(asking.ask('double', -1)).rejects.toThrow(new StoreUnavailable('less than nothing'));
  });

  test('whoever waits is told when the other side is gone, and so is whoever asks later', async () => {
    const [, asking] = doubling();
    const waiting = asking.ask('double', 2);
    asking.close();
    await expect(waiting).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(asking.ask('double', 2)).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test.each([
    ['no object', 'double'],
    ['a verb that nobody knows', { verb: 'triple', body: 2 }],
    ['a verb that every object has', { verb: 'constructor', body: 2 }],
    ['a body that cannot be read', { verb: 'double', body: 'two', ask: 1 }],
    ['an envelope that is none', { verb: 7 }],
  ])('what means nothing is told and does nothing: %s', async (_what, message) => {
    const heard = vi.fn();
    const { one, other } = pairedEnds();
    const handler = vi.fn(() => 0);
    const readers = {
      double: (body: unknown) => {
        if (typeof body !== 'number') throw new Error('no number');
        return body;
      },
    };
    new Channel<Nothing, Doubling>(one).answer({ handlers: { double: handler }, readers, onNonsense: heard });
    other.send(message as object);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(heard).toHaveBeenCalledOnce();
    expect(handler).not.toHaveBeenCalled();
  });
});
