// The end of a request that waited with more of its body than is kept. From a paused socket nothing is read, not even that
// its client has left; that stands right behind the last byte. So after a long pause the last piece is given on only when
// nothing has come behind it: for a client that is gone nothing is carried out.

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
