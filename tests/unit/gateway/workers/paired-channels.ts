// Both ends of a channel in one process: what is sent goes through JSON, as between processes, and arrives a turn later.
import { Channel, type ChannelEnd, type ChannelOptions, type Verbs } from '../../../../src/gateway/workers/channel.ts';

export interface Ends {
  readonly one: ChannelEnd;
  readonly other: ChannelEnd;
}

export function pairedEnds(): Ends {
  const listeners: Record<'one' | 'other', ((message: unknown, handle: null) => void)[]> = { one: [], other: [] };
  const end = (own: 'one' | 'other', far: 'one' | 'other'): ChannelEnd => ({
    send(message) {
      const text = JSON.stringify(message);
      setImmediate(() => {
        for (const listener of listeners[far]) listener(JSON.parse(text), null);
      });
    },
    onMessage: (listener) => {
      listeners[own].push(listener);
    },
  });
  return { one: end('one', 'other'), other: end('other', 'one') };
}

export function pairedChannels<A extends Verbs, B extends Verbs>(
  one: ChannelOptions<A>,
  other: ChannelOptions<B>,
): [Channel<B, A>, Channel<A, B>] {
  const ends = pairedEnds();
  const channels: [Channel<B, A>, Channel<A, B>] = [new Channel(ends.one), new Channel(ends.other)];
  channels[0].answer(one);
  channels[1].answer(other);
  return channels;
}
