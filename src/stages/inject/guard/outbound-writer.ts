// The writer that a request passes through on its way to the upstream while it is searched. Bytes go on as they came, in
// order, as far as the reader beside it vouches for them; what must not go out breaks the request off, so that the
// upstream never sees it whole. Holds no more than what is undecided.

import { Fifo } from '../../../kit/fifo.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Refusal } from '../../../path/refusal.ts';

/** Looks at what passes. `read` and `end` throw the Refusal for what must not go out. */
export interface OutboundReader {
  /** From this place on nothing may go yet; Infinity: all may that was read. */
  readonly openAt: number;
  /** True while something is worked out aside (a coding taken off), after the end too. */
  readonly isBusy: boolean;
  /** What comes from `openAt` on cannot be read: what stands before it goes out, and then it is broken off with this. */
  readonly fault: Refusal | null;
  /** Nothing more needs to be looked at. */
  readonly isPast: boolean;
  /** Called when `openAt` or `isBusy` has changed by itself, or with why it must break off. */
  onProgress: ((refusal: Error | null) => void) | null;
  /** `at`: where the chunk begins, counted from the first byte. */
  read(chunk: Buffer, at: number): void;
  end(trailers: HeaderList | null): void;
  /** Nothing has come for a while. */
  release(): void;
  /** Nothing more will come, and nobody waits for an end. */
  close(): void;
}

/** As much as waits before the sender is asked to stop. */
const maxHeldBytes = 256 * 1024;
/** After so long a silence the few bytes that wait are given out: somebody may be waiting for just these. */
const silenceMs = 100;

export class SearchedWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #to: BodyWriter;
  readonly #reader: OutboundReader;
  /** What waits, in order, and where the first of it stands. */
  readonly #held = new Fifo<Buffer>();
  #heldBytes = 0;
  #passed = 0;
  #ending: { readonly trailers: HeaderList | null } | null = null;
  #isOver = false;
  #isBlocked = false;
  #silence: NodeJS.Timeout | null = null;

  constructor(to: BodyWriter, reader: OutboundReader) {
    this.#to = to;
    this.#reader = reader;
    to.onDrain = () => {
      this.#isBlocked = false;
      this.#askForMore();
    };
    reader.onProgress = (refusal) => this.#onProgress(refusal);
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    const reader = this.#reader;
    if (!reader.isPast) {
      try {
        reader.read(chunk, this.#passed + this.#heldBytes);
      } catch (error) {
        this.#breakOff(error);
        return true;
      }
    }
    if (this.#heldBytes === 0 && reader.openAt === Number.POSITIVE_INFINITY) {
      this.#passed += chunk.length;
      return this.#to.write(chunk);
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    this.#pass(reader.openAt);
    if (this.#stopsAtFault()) return true;
    this.#listen();
    return !this.#isBlocked && this.#heldBytes < maxHeldBytes;
  }

  flush(): void {
    if (!this.#isOver) this.#to.flush();
  }

  end(trailers: HeaderList | null): void {
    if (this.#isOver) return;
    this.#stopListening();
    if (!this.#endReading(trailers)) return;
    this.#ending = { trailers };
    this.#onProgress(null);
  }

  fail(reason: Error): void {
    if (this.#isOver) return;
    this.#stop();
    this.#to.fail(reason);
  }

  #onProgress(refusal: Error | null): void {
    if (this.#isOver) return;
    if (refusal !== null) {
      this.#breakOff(refusal);
      return;
    }
    this.#pass(this.#reader.openAt);
    if (this.#stopsAtFault()) return;
    if (this.#ending !== null && !this.#reader.isBusy) {
      this.#stop();
      this.#to.end(this.#ending.trailers);
    } else this.#askForMore();
  }

  /** Passes on what stands before `limit`. */
  #pass(limit: number): void {
    while (this.#held.length > 0 && this.#passed < limit) {
      const first = this.#held.first!;
      const room = limit - this.#passed;
      const part = room < first.length ? first.subarray(0, room) : first;
      if (part === first) this.#held.shift();
      else this.#held.replaceFirst(first.subarray(part.length));
      this.#heldBytes -= part.length;
      this.#passed += part.length;
      if (!this.#to.write(part)) this.#isBlocked = true;
    }
  }

  #askForMore(): void {
    if (!this.#isBlocked && this.#heldBytes < maxHeldBytes) this.onDrain?.();
  }

  /** True: it is over, either way. What is still worked out aside comes before it. */
  #stopsAtFault(): boolean {
    const { fault, isBusy } = this.#reader;
    if (fault === null || isBusy) return false;
    // What waited for what comes next will not get it.
    if (!this.#endReading(null)) return true;
    this.#pass(this.#reader.openAt);
    this.#breakOff(fault);
    return true;
  }

  /** False: the last of it must not go out, and it was broken off. */
  #endReading(trailers: HeaderList | null): boolean {
    try {
      this.#reader.end(trailers);
      return true;
    } catch (error) {
      this.#breakOff(error);
      return false;
    }
  }

  #breakOff(error: unknown): void {
    this.#stop();
    this.#to.fail(error instanceof Error ? error : new Error(String(error)));
  }

  #stop(): void {
    this.#isOver = true;
    this.#stopListening();
    this.#held.clear();
    this.#reader.onProgress = null;
    this.#reader.close();
  }

  #listen(): void {
    this.#stopListening();
    if (this.#heldBytes > 0) this.#silence = setTimeout(this.#afterSilence, silenceMs);
  }

  #stopListening(): void {
    if (this.#silence === null) return;
    clearTimeout(this.#silence);
    this.#silence = null;
  }

  readonly #afterSilence = (): void => {
    this.#silence = null;
    this.#reader.release();
    this.#onProgress(null);
  };
}
