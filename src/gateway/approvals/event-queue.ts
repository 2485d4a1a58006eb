// Events for one reader that may be slow. Of those that only tell what passed so many are kept, and the reader is told how many
// it lost; those about a question are never left out for them. Never makes who puts something in wait.

interface QueuedEvent<T> {
  readonly event: T;
  /** The question it is about; null: none, and it may be left out. */
  readonly about: string | null;
}

export class EventQueue<T> {
  readonly #max: number;
  readonly #lostOf: (count: number) => T;
  #events: QueuedEvent<T>[] = [];
  /** How many of them are about no question. */
  #passing = 0;
  #lost = 0;
  #wake: (() => void) | null = null;

  constructor(max: number, lostOf: (count: number) => T) {
    this.#max = max;
    this.#lostOf = lostOf;
  }

  put(event: T, about: string | null = null): void {
    if (about === null) this.#putPassing(event);
    else this.#putAbout(event, about);
    this.#wake?.();
  }

  /** Until `signal` is aborted. One reader. */
  async *read(signal: AbortSignal): AsyncGenerator<T, void, void> {
    const end = (): void => this.#wake?.();
    signal.addEventListener('abort', end);
    try {
      while (!signal.aborted) {
        const events = this.#events;
        const lost = this.#lost;
        this.#events = [];
        this.#passing = 0;
        this.#lost = 0;
        for (const { event } of events) yield event;
        if (lost > 0) yield this.#lostOf(lost);
        if (this.#events.length > 0 || signal.aborted) continue;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #putPassing(event: T): void {
    if (this.#passing >= this.#max) {
      this.#lost++;
      return;
    }
    this.#passing++;
    this.#events.push({ event, about: null });
  }

  /**
   * How many questions wait is bounded by the approvals, and so is this: for a reader that does not read, one that is over before
   * it was read is left out whole.
   */
  #putAbout(event: T, about: string): void {
    const isMany = this.#events.length - this.#passing >= this.#max;
    const unread = isMany ? this.#events.findIndex((one) => one.about === about) : -1;
    if (unread === -1) this.#events.push({ event, about });
    else {
      this.#events.splice(unread, 1);
      this.#lost += 2;
    }
  }
}
