// The end of a request that had to wait while its socket was paused. A paused socket does not even show that its client has
// left: that comes right behind the last byte. So after a long pause the last piece is passed on only when the client is
// still there. A request whose client is gone is not carried out.

/** A client that leaves sooner might as well have left a moment after its request went on. */
const longMs = 1_000;
/** What the system has received already is read at once. */
const readWithinMs = 20;

export class HeldEnd {
  #pausedAtMs: number | null = null;
  /** The last piece is here and not given on yet. */
  isKept = false;

  paused(): void {
    this.#pausedAtMs ??= performance.now();
  }

  get isInDoubt(): boolean {
    return this.#pausedAtMs !== null && performance.now() - this.#pausedAtMs >= longMs;
  }

  keep(giveOn: () => void): void {
    this.isKept = true;
    this.#pausedAtMs = null;
    setTimeout(() => {
      this.isKept = false;
      giveOn();
    }, readWithinMs);
  }
}
