// How much the other side of HTTP/2 may send that carries nothing (pings, settings, window updates, priorities, empty or tiny
// frames) and how often a client may take back what it asked for. One measure for all of them: what came over the wire, less what
// was head or body of a message. The codecs have limits of their own for a few of these; this is for whatever is left.
import type { Readable } from 'node:stream';
import { TokenBucket } from '../token-bucket.ts';

/** Enough for what clients send in good faith at once, and then all the time. A ping is 17 bytes. */
const usualBurstBytes = 1024 * 1024;
const wastePerSecondBytes = 64 * 1024;
/** Who takes much in must say so: some 26 bytes of window updates for every 16 KiB, and four times that for good measure. */
const takenPerWasteByte = 128;
/** Twice as many as can be open at once. */
const resetRate = { burst: 256, perSecond: 64 };
/** Pieces of bodies that wait unread: each takes some 400 bytes, however small it is. 128 streams of 16 KiB pieces have 2048. */
const maxUnreadPieces = 16 * 1024;

/** A head can be far larger than what came of it (HPACK): it pays for so much at most. */
const maxHeadBytes = 16 * 1024;
/** What may still come for a stream that was cut: twice the window of a connection. And for all of them. */
const onItsWayBytes = 128 * 1024;
const onItsWayRate = { burst: 4 * 1024 * 1024, perSecond: 1024 * 1024 };

/** What a session has sent and taken so far. */
export interface SessionTotals {
  readonly wireBytes: number;
  /** Heads and bodies. */
  readonly usefulBytes: number;
  readonly takenBytes: number;
  readonly unreadPieces: number;
}

export class H2Flood {
  readonly #resets: TokenBucket;
  readonly #waste: TokenBucket;
  readonly #onItsWay: TokenBucket;
  #wasteBytes = 0;

  /** `burstBytes`: what may carry nothing of all that comes at once. */
  constructor(nowMs: number, burstBytes = usualBurstBytes) {
    this.#resets = new TokenBucket(resetRate, nowMs);
    this.#waste = new TokenBucket({ burst: burstBytes, perSecond: wastePerSecondBytes }, nowMs);
    this.#onItsWay = new TokenBucket(onItsWayRate, nowMs);
  }

  /** The client has taken back a request that was under way. True: once too often. */
  isResetTooMany(nowMs: number): boolean {
    return !this.#resets.take(1, nowMs);
  }

  /** What the head of a message is worth. */
  headBytes(decoded: number): number {
    return Math.min(decoded, maxHeadBytes);
  }

  /** What a body is worth that was cut: what nobody has read of it, and what may still come before the other side knows. */
  cutBytes(unread: number, nowMs: number): number {
    return unread + (this.#onItsWay.take(onItsWayBytes, nowMs) ? onItsWayBytes : 0);
  }

  /** In words what there is too much of; null: nothing. */
  look({ wireBytes, usefulBytes, takenBytes, unreadPieces }: SessionTotals, nowMs: number): string | null {
    const before = this.#wasteBytes;
    this.#wasteBytes = Math.max(before, wireBytes - usefulBytes - takenBytes / takenPerWasteByte);
    if (!this.#waste.take(this.#wasteBytes - before, nowMs)) return 'sends frames that carry nothing';
    return unreadPieces > maxUnreadPieces ? 'sends bodies in pieces of a few bytes' : null;
  }
}

/** Node does not show how many buffers a stream holds; where it cannot be asked, as if each were large. */
export function piecesIn(stream: Readable): number {
  const state: unknown = Reflect.get(stream, '_readableState');
  const buffer: unknown = typeof state === 'object' && state !== null ? Reflect.get(state, 'buffer') : null;
  const pieces: unknown = typeof buffer === 'object' && buffer !== null ? Reflect.get(buffer, 'length') : 0;
  return typeof pieces === 'number' ? pieces : 0;
}
