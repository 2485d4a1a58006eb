import { describe, expect, test } from 'vitest';
import { FrameFlood, TooManyFrames } from '../../../../src/kit/floods/websocket-flood.ts';
import type { FrameHead } from '../../../../src/protocols/websocket/websocket-frames.ts';

const plain = { opcode: 1, isFinal: true, isControl: false, isDeflated: false, bytes: Buffer.alloc(2) };
const tiny: FrameHead = { ...plain, contentBytes: 63 };
const ping: FrameHead = { ...plain, opcode: 9, isControl: true, contentBytes: 0 };
const folded: FrameHead = { ...plain, isDeflated: true, contentBytes: 1023 };

let connections = 0;

/** How many of them pass, one every `everyMs`, of `most`. */
function passing(head: FrameHead, everyMs: number, most: number): number {
  let nowMs = 0;
  const flood = new FrameFlood(`sbx_${connections++} client`, () => nowMs);
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

describe('all connections of one sandbox together', () => {
  const atOnce = 60;

  /** How many of them pass on `atOnce` connections, `each` on one. */
  function passingOnMany(whose: string, head: FrameHead, each: number): number {
    let passed = 0;
    for (let n = 0; n < atOnce; n++) {
      const flood = new FrameFlood(whose, () => 0);
      try {
        for (let sent = 0; sent < each; sent++, passed++) flood.count(head);
      } catch (error) {
        expect(error).toBeInstanceOf(TooManyFrames);
      }
    }
    return passed;
  }

  test('have no more than a part of a processor, whichever of them it is spent on', () => {
    expect(passingOnMany('sbx_folded client', folded, 4096)).toBe(5_000);
    expect(passingOnMany('sbx_tiny client', tiny, 8192)).toBe(200_000);
  });

  test('and what one sandbox sends is no loss to another, nor to the side that sends to it', () => {
    passingOnMany('sbx_noisy client', folded, 4096);
    for (const whose of ['sbx_quiet client', 'sbx_noisy upstream']) {
      expect(passingOnMany(whose, folded, 10)).toBe(10 * atOnce);
    }
  });

  test.each([
    ['fifty with three hundred frames a second each', 50, 300, tiny],
    ['twenty with a hundred compressed ones', 20, 100, folded],
  ])('%s may go on for ever', (what, count, perSecond, head) => {
    let nowMs = 0;
    const floods = Array.from({ length: count }, () => new FrameFlood(`sbx_${what}`, () => nowMs));
    for (let second = 0; second < 60; second++) {
      nowMs = second * 1000;
      // The frames of a whole second at once: worse than they come.
      for (const flood of floods) for (let n = 0; n < perSecond; n++) flood.count(head);
    }
  });
});
