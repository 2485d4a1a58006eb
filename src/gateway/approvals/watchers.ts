// Whether anybody looks on who could be asked. Who reloads a page is gone for a moment: that moment still counts.
// Knows nothing of what is asked.

/** A page that is loaded anew is back within this. */
const lingerMs = 5_000;

export class Watchers {
  readonly #now: () => number;
  #count = 0;
  #leftAtMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get count(): number {
    return this.#count;
  }

  /** Somebody looks on until the returned function is called; calling it again does nothing. */
  begin(): () => void {
    this.#count++;
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#count--;
      this.#leftAtMs = this.#now();
    };
  }

  get isAnybodyThere(): boolean {
    return this.#count > 0 || this.#now() - this.#leftAtMs < lingerMs;
  }
}
