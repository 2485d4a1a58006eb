// How many frames of a WebSocket that carry next to nothing one side may send. Reading a frame costs the same however small
// it is, and unfolding one costs a hundred times that: a few bytes could keep the whole process busy. What carries
// something is never counted here; for that there are limits of bytes. Counted for the connection, and for all of a sandbox's.
import { LRUCache } from 'lru-cache';
import { TokenBucket } from '../token-bucket.ts';

/**
 * A voice is some fifty frames in a second, the words of a model some hundreds, and what has piled up comes at once. A read
 * of 64 KiB has room for 32,000 empty frames.
 */
const connectionRate = { burst: 8192, perSecond: 2048 };
/** A frame with so much in it pays for itself. */
const smallBytes = 64;
/** Measured: some 100 microseconds, whatever it unfolds to, beside one or two for a frame that is plain. */
const smallDeflatedBytes = 1024;
const deflatedCost = 2;

/**
 * All connections of one sandbox together, each way: a fifth of a processor, counted in plain frames of some two microseconds.
 * Twenty conversations with a hundred compressed words a second each are within it.
 */
const sandboxPerSecond = 100_000;
const sandboxRate = { burst: 2 * sandboxPerSecond, perSecond: sandboxPerSecond };
const sandboxDeflatedCost = 40;

/** More sandboxes than one process serves; who is forgotten begins anew. */
const sandboxes = new LRUCache<string, TokenBucket>({ max: 4096 });

/** What is asked of a frame: whether it is compressed, and how much is in it. */
export interface FrameSize {
  readonly isDeflated: boolean;
  readonly contentBytes: number;
}

export class TooManyFrames extends Error {
  constructor() {
    super('more frames that are empty or tiny than any use of a WebSocket has');
  }
}

export class FrameFlood {
  readonly #now: () => number;
  readonly #ofConnection: TokenBucket;
  readonly #ofSandbox: TokenBucket;

  /** `whose`: the sandbox and the side that sends. `now`: milliseconds that never run backwards. */
  constructor(whose: string, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#ofConnection = new TokenBucket(connectionRate, now());
    this.#ofSandbox = sandboxes.get(whose) ?? new TokenBucket(sandboxRate, now());
    sandboxes.set(whose, this.#ofSandbox);
  }

  /** Throws TooManyFrames. */
  count({ isDeflated, contentBytes }: FrameSize): void {
    if (contentBytes >= (isDeflated ? smallDeflatedBytes : smallBytes)) return;
    const nowMs = this.#now();
    const isWithin =
      this.#ofConnection.take(isDeflated ? deflatedCost : 1, nowMs) &&
      this.#ofSandbox.take(isDeflated ? sandboxDeflatedCost : 1, nowMs);
    if (!isWithin) throw new TooManyFrames();
  }
}
