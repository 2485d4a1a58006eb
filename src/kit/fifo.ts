// A first-in, first-out queue that stays fast however long it gets: removing the first element of an array moves all others,
// which takes seconds with tens of thousands of them (a buffer full of two-byte frames). Keeps no removed elements.

/** So many places may stand empty at the front before the rest is moved up. */
const maxEmpty = 1024;

export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** The one that is next; undefined: there is none. */
  get first(): T | undefined {
    return this.#items[this.#first];
  }

  push(...items: readonly T[]): void {
    for (const item of items) this.#items.push(item);
  }

  /** In place of the one that is next. */
  replaceFirst(item: T): void {
    if (this.length > 0) this.#items[this.#first] = item;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first++;
    if (this.#first === this.#items.length) this.clear();
    else if (this.#first > maxEmpty && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#first = 0;
  }
}
