// Names for questions: short, because people type them, and not to be foreseen, so that one read before a restart answers no
// other question after it, and none tells a sandbox how many there were. Knows nothing of what is asked.
import { randomInt } from 'node:crypto';

/** No two that are taken for each other (0 and o, 1 and l, 2 and z, 5 and s, 8 and b), and nearly no words. */
const letters = 'acdefghjkmnpqrtvwxy34679';
/** Some eight million: to try them takes longer than any of them waits. */
const length = 5;
/** Of those that are over, so many are not given again. */
const remembered = 1_000;

export class QuestionIds {
  readonly #make: () => string;
  readonly #recent = new Set<string>();

  constructor(make: () => string = randomId) {
    this.#make = make;
  }

  next(isTaken: (id: string) => boolean): string {
    let id = this.#make();
    while (this.#recent.has(id) || isTaken(id)) id = this.#make();
    this.#recent.add(id);
    const [oldest] = this.#recent;
    if (this.#recent.size > remembered) this.#recent.delete(oldest!);
    return id;
  }
}

function randomId(): string {
  return `q${Array.from({ length }, () => letters[randomInt(letters.length)]).join('')}`;
}
