// Finds the place in a JSON text that a pointer (RFC 6901) names, so that one value can be exchanged and every other byte stays
// as it was. Strict where readers differ: a name that stands twice in an object is no JSON that two programs read alike.

export interface JsonPlace {
  /** The value that stands there; from `start` to `end` it can be exchanged. Null: nothing does, and a member can be put there. */
  readonly found: 'string' | 'null' | 'other' | null;
  readonly start: number;
  readonly end: number;
  /** Of a place where nothing stands: whether a comma goes behind the new member. */
  readonly hasOthers: boolean;
}

export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** Deeper than any request, and well within the stack. */
const maxDepth = 128;

/** Null: what the place would be in is not there. Throws UnreadableJson. */
export function findJsonPlace(text: string, pointer: readonly string[]): JsonPlace | null {
  try {
    JSON.parse(text);
  } catch {
    throw new UnreadableJson('it is not valid JSON');
  }
  return new Finder(text, pointer).find();
}

// From here on the text is known to be JSON: only where things stand has to be found.
class Finder {
  readonly #text: string;
  readonly #pointer: readonly string[];
  #at = 0;
  #place: JsonPlace | null = null;

  constructor(text: string, pointer: readonly string[]) {
    this.#text = text;
    this.#pointer = pointer;
  }

  find(): JsonPlace | null {
    this.#value(0, 0);
    return this.#place;
  }

  /** `matched`: how many parts of the pointer lead here; -1: it does not. */
  #value(matched: number, depth: number): void {
    if (depth > maxDepth) throw new UnreadableJson(`it is nested deeper than ${maxDepth}`);
    this.#space();
    const start = this.#at;
    const first = this.#text[start];
    if (first === '{') this.#object(matched, depth);
    else if (first === '[') this.#array(matched, depth);
    else if (first === '"') this.#string();
    else while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at]!)) this.#at++;
    if (matched !== this.#pointer.length) return;
    const found = first === '"' ? 'string' : first === 'n' ? 'null' : 'other';
    this.#place = { found, start, end: this.#at, hasOthers: false };
  }

  #object(matched: number, depth: number): void {
    const wanted = matched < 0 ? undefined : this.#pointer[matched];
    const isLast = matched === this.#pointer.length - 1;
    const begin = ++this.#at;
    const names = new Set<string>();
    let there = false;
    for (this.#space(); this.#text[this.#at] !== '}'; this.#space()) {
      if (this.#text[this.#at] === ',') {
        this.#at++;
        continue;
      }
      const name = JSON.parse(this.#string()) as string;
      // Guards: threats.md T112. One reader takes the first of two, another the last, and some know no upper case.
      if (names.has(name)) throw new UnreadableJson('a name stands twice in one object');
      if (wanted !== undefined && isLast && name !== wanted && name.toLowerCase() === wanted.toLowerCase()) {
        throw new UnreadableJson('the name of the place stands there in another spelling too');
      }
      names.add(name);
      this.#space();
      this.#at++;
      there ||= name === wanted;
      this.#value(name === wanted ? matched + 1 : -1, depth + 1);
    }
    this.#at++;
    if (wanted === undefined || !isLast || there) return;
    this.#place = { found: null, start: begin, end: begin, hasOthers: names.size > 0 };
  }

  #array(matched: number, depth: number): void {
    const wanted = matched < 0 ? undefined : this.#pointer[matched];
    this.#at++;
    let index = 0;
    for (this.#space(); this.#text[this.#at] !== ']'; this.#space()) {
      if (this.#text[this.#at] === ',') {
        this.#at++;
        continue;
      }
      this.#value(String(index++) === wanted ? matched + 1 : -1, depth + 1);
    }
    this.#at++;
  }

  #string(): string {
    const start = this.#at++;
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    return this.#text.slice(start, ++this.#at);
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }
}
