// WebSocket frames, damaged: read the same way however they are cut, or refused in an error of ours; and a compressed
// message that is no such thing ends in an error, never in a hang.
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FrameReader,
  type FrameSink,
  serverFrameHead,
  UnreadableFrame,
} from '../../../src/protocols/websocket/websocket-frames.ts';
import { MessageInflater } from '../../../src/protocols/websocket/websocket-inflate.ts';
import { mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';

reportFuzz('WebSocket');

function clientFrame(opcode: number, isFinal: boolean, content: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const masked = Buffer.from(content).map((byte, i) => byte ^ mask[i & 3]!);
  const head = serverFrameHead(opcode, isFinal, masked.length);
  head[1] = head[1]! | 0x80;
  return Buffer.concat([head, mask, masked]);
}

const serverFrame = (opcode: number, isFinal: boolean, content: string): Buffer =>
  Buffer.concat([serverFrameHead(opcode, isFinal, content.length), Buffer.from(content)]);

const conversation = (frame: typeof clientFrame): Buffer[] => [
  frame(1, true, 'hello'),
  Buffer.concat([frame(1, false, 'hel'), frame(9, true, 'ping'), frame(0, true, 'lo')]),
  Buffer.concat([frame(2, true, 'x'.repeat(300)), frame(8, true, '')]),
  Buffer.concat([frame(2, true, 'y'.repeat(70_000)), frame(10, true, '')]),
];

/** Everything that a reader says of the bytes, in these pieces; null: it refused them. */
function read(sender: 'client' | 'server', parts: readonly Buffer[]): string | null {
  let text = '';
  const sink: FrameSink = {
    onHead: ({ opcode, isFinal, contentBytes }) => {
      text += `[${opcode} ${isFinal} ${contentBytes}:`;
    },
    onContent: (content) => {
      text += content.toString('latin1');
    },
    onEnd: () => {
      text += ']';
    },
  };
  const reader = new FrameReader(sender, false, sink);
  try {
    for (const part of parts) reader.feed(part);
  } catch (error) {
    if (error instanceof UnreadableFrame) return null;
    throw error;
  }
  return text;
}

describe('damaged WebSocket frames', () => {
  test.each(['client', 'server'] as const)(
    'of a %s are one thing, in whatever pieces they come',
    { timeout: fuzzTimeoutMs },
    (sender) => {
      const frames = conversation(sender === 'client' ? clientFrame : serverFrame);
      const small = [...frames.slice(0, 3), ...frames.slice(0, 3), frames[3]!];
      let taken = 0;
      fuzz(fc.tuple(mutated(small), fc.integer({ min: 1, max: 50 })), 1_500, ([bytes, atLeast]) => {
        const size = Math.max(atLeast, Math.ceil(bytes.length / 200));
        const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        const whole = read(sender, [bytes]);
        expect(read(sender, parts)).toBe(whole);
        if (whole?.endsWith(']')) taken++;
      });
      expect(taken).toBeGreaterThan(50);
    },
  );

  test('a compressed message is unfolded or refused, and never waited for', { timeout: fuzzTimeoutMs }, async () => {
    const messages = ['hello', 'a'.repeat(5_000), ''].map((text) =>
      deflateRawSync(text, { finishFlush: 2 }).subarray(0, -4),
    );
    let unfolded = 0;
    await fuzzSlowly(fc.tuple(mutated(messages), fc.boolean()), 400, ([bytes, twice]) => {
      const inflater = new MessageInflater(() => true);
      const feed = (): Promise<Error | null> => new Promise((resolve) => inflater.feed(bytes, true, resolve));
      return feed()
        .then((failure) => (failure === null && twice ? feed() : failure))
        .then((failure) => {
          if (failure === null) unfolded++;
          inflater.close();
        });
    });
    expect(unfolded).toBeGreaterThan(10);
  });
});
