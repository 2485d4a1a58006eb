// The live feed: who wants to see records as they happen. Costs nothing while nobody listens, holds nothing back
// for slow listeners, and a listener that throws is dropped: it must never disturb the path.
import type { RecordBody } from './journal/record.ts';

export type FeedListener = (record: RecordBody & { readonly seq: number }) => void;

export class Feed {
  /** Called when somebody begins to watch, and when nobody does any more. */
  onWatched: (() => void) | null = null;
  readonly #listeners = new Set<FeedListener>();
  readonly #maxListeners: number;

  constructor(maxListeners = 32) {
    this.#maxListeners = maxListeners;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns how to stop listening; null when there are too many listeners already. */
  subscribe(listener: FeedListener): (() => void) | null {
    if (this.#listeners.size >= this.#maxListeners) return null;
    // A function of its own for each, so that the same one given twice is two listeners.
    const own: FeedListener = (record) => listener(record);
    this.#listeners.add(own);
    if (this.#listeners.size === 1) this.onWatched?.();
    return () => this.#drop(own);
  }

  publish(seq: number, body: RecordBody): void {
    if (this.#listeners.size === 0) return;
    const record = { seq, ...body };
    for (const listener of this.#listeners) {
      try {
        listener(record);
      } catch {
        this.#drop(listener);
      }
    }
  }

  #drop(listener: FeedListener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.onWatched?.();
  }
}
