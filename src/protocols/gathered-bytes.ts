// Bytes of a client that wait to be read on, in one piece however small the pieces were in which they came: a hundred
// thousand buffers of one byte would take a hundred times what they hold, and joining them one by one would copy all of
// them for each. Bounds nothing by itself: who adds asks how much there is.

const firstRoom = 4096;

export class GatheredBytes {
  #room: Buffer | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#room === null) {
      // Mostly it is the only one: kept as it came.
      this.#room = chunk;
      this.#length = chunk.length;
      return;
    }
    const length = this.#length + chunk.length;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(firstRoom, 2 * length));
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
    }
    chunk.copy(this.#room, this.#length);
    this.#length = length;
  }

  /** All of it, until more is added. */
  view(): Buffer {
    return this.#room === null ? Buffer.alloc(0) : this.#room.subarray(0, this.#length);
  }

  /** All of it, and nothing is left here; null: there was nothing. */
  take(): Buffer | null {
    if (this.#room === null) return null;
    const bytes = this.view();
    this.#room = null;
    this.#length = 0;
    return bytes;
  }
}
