// How many frames of a WebSocket that carry next to nothing one side may send. Reading a frame costs the same however small
// it is, and unfolding one costs a hundred times that: a few bytes could keep the whole process busy. What carries
// something is never counted here; for that there are limits of bytes.
import { Allowance } from './allowance.ts';
import { type FrameHead, UnreadableFrame } from './websocket-frames.ts';

/**
 * A voice is some fifty frames in a second, the words of a model some hundreds, and what has piled up comes at once. A read
 * of 64 KiB has room for 32,000 empty frames.
 */
const burst = 8192;
const perSecond = 2048;
/** A frame with so much in it pays for itself. */
const smallBytes = 64;
/** Measured: some 100 microseconds, whatever it unfolds to, beside one or two for a frame that is plain. */
const smallDeflatedBytes = 1024;
const deflatedCost = 2;

export class TooManyFrames extends UnreadableFrame {
  constructor() {
    super('more frames that are empty or tiny than any use of a WebSocket has');
  }
}

export class FrameFlood {
  readonly #now: () => number;
  readonly #left: Allowance;

  /** `now`: milliseconds that never run backwards. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#left = new Allowance(burst, perSecond, now());
  }

  /** Throws TooManyFrames. */
  count({ isDeflated, contentBytes }: FrameHead): void {
    if (contentBytes >= (isDeflated ? smallDeflatedBytes : smallBytes)) return;
    if (!this.#left.use(isDeflated ? deflatedCost : 1, this.#now())) throw new TooManyFrames();
  }
}
