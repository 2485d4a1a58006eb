import { describe, expect, test } from 'vitest';
import { FrameFlood, TooManyFrames } from '../../../src/kit/websocket-flood.ts';
import type { FrameHead } from '../../../src/kit/websocket-frames.ts';

const plain = { opcode: 1, isFinal: true, isControl: false, isDeflated: false, bytes: Buffer.alloc(2) };
const tiny: FrameHead = { ...plain, contentBytes: 63 };
const ping: FrameHead = { ...plain, opcode: 9, isControl: true, contentBytes: 0 };
const folded: FrameHead = { ...plain, isDeflated: true, contentBytes: 1023 };

/** How many of them pass, one every `everyMs`, of `most`. */
function passing(head: FrameHead, everyMs: number, most: number): number {
  let nowMs = 0;
  const flood = new FrameFlood(() => nowMs);
  for (let n = 0; n < most; n++) {
    nowMs = n * everyMs;
    try {
      flood.count(head);
    } catch (error) {
      expect(error).toBeInstanceOf(TooManyFrames);
      return n;
    }
  }
  return most;
}

describe('frames that carry next to nothing', () => {
  test.each([
    ['tiny ones', tiny, 8192],
    ['pings', ping, 8192],
    ['compressed ones, which cost more', folded, 4096],
  ])('%s: thousands at once, and no more', (_what, head, most) => {
    expect(passing(head, 0, 20_000)).toBe(most);
  });

  test('a thousand a second, and five hundred compressed ones, may come for ever', () => {
    expect(passing(tiny, 1, 50_000)).toBe(50_000);
    expect(passing(folded, 2, 50_000)).toBe(50_000);
  });

  test('what is full is not counted', () => {
    expect(passing({ ...tiny, contentBytes: 64 }, 0, 50_000)).toBe(50_000);
    expect(passing({ ...folded, contentBytes: 1024 }, 0, 50_000)).toBe(50_000);
  });
});
