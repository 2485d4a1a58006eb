// How much content may still come on a connection, or on one of its streams (RFC 9113 section 5.2). What was used is given
// back in large steps: a WINDOW_UPDATE for every frame would cost more than the frame.

export class ReceiveWindow {
  readonly #bytes: number;
  #left: number;
  #used = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#left = bytes;
  }

  /** So much came. False: more than was allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** So much of it has been used. By how much the window grows now; mostly 0. */
  use(bytes: number): number {
    this.#used += bytes;
    if (this.#used < this.#bytes / 2) return 0;
    const grown = this.#used;
    this.#left += grown;
    this.#used = 0;
    return grown;
  }
}
