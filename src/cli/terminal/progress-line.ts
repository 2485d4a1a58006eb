// One line on a terminal that says how far long work has come, and is gone when something else is printed. Says nothing in a
// pipe.

/** Back to the first column, and whatever stands there is erased. */
const erase = '\r\u001b[K';

export class ProgressLine {
  readonly #write: ((text: string) => unknown) | null;
  #isShown = false;

  constructor(
    { isTerminal }: { readonly isTerminal: boolean },
    write: (text: string) => unknown = (text) => process.stderr.write(text),
  ) {
    this.#write = isTerminal ? write : null;
  }

  show(text: string): void {
    this.#write?.(`${erase}${text} …`);
    this.#isShown = true;
  }

  clear(): void {
    if (this.#isShown) this.#write?.(erase);
    this.#isShown = false;
  }
}
