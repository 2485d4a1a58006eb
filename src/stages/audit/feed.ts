// The live feed: who wants to see records as they happen. Costs nothing while nobody listens, holds nothing back
// for slow listeners, and a listener that throws is dropped: it must never disturb the path.
import type { RecordBody } from './journal/record.ts';

export type FeedListener = (record: RecordBody & { readonly seq: number }) => void;

export class Feed {
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
    return () => {
      this.#listeners.delete(own);
    };
  }

  publish(seq: number, body: RecordBody): void {
    if (this.#listeners.size === 0) return;
    const record = { seq, ...body };
    for (const listener of this.#listeners) {
      try {
        listener(record);
      } catch {
        this.#listeners.delete(listener);
      }
    }
  }
}
