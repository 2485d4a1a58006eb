// Finds what covers a host without walking every pattern: exact names by one look-up, wildcards by one look-up per
// label. Answers are remembered in a bounded map, also "nothing", so that a flood of made-up names costs no memory.
import type { HostPattern } from './compiled.ts';

const maxRemembered = 4096;

export class HostIndex<T> {
  readonly #exact = new Map<string, { order: number; item: T }[]>();
  readonly #suffixes = new Map<string, { order: number; item: T }[]>();
  /** Under `*`: last of all. */
  readonly #any: T[] = [];
  readonly #remembered = new Map<string, readonly T[]>();
  #order = 0;

  /** Items are answered in the order they were added, those with an exact name before those with a wildcard. */
  add(pattern: HostPattern, item: T): void {
    if (pattern.text === '*') {
      this.#any.push(item);
      this.#remembered.clear();
      return;
    }
    const wildcard = pattern.text.startsWith('*.');
    const key = wildcard ? pattern.text.slice(1) : pattern.text;
    const map = wildcard ? this.#suffixes : this.#exact;
    const entries = map.get(key);
    const entry = { order: this.#order++, item };
    if (entries) entries.push(entry);
    else map.set(key, [entry]);
    this.#remembered.clear();
  }

  find(host: string): readonly T[] {
    const known = this.#remembered.get(host);
    if (known) return known;
    const found = this.#search(host);
    if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
    this.#remembered.set(host, found);
    return found;
  }

  #search(host: string): readonly T[] {
    const wildcards: { order: number; item: T }[] = [];
    if (this.#suffixes.size > 0) {
      // From index 1: a wildcard needs at least one character before its dot.
      for (let dot = host.indexOf('.', 1); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        const entries = this.#suffixes.get(host.slice(dot));
        if (entries) wildcards.push(...entries);
      }
      wildcards.sort((a, b) => a.order - b.order);
    }
    const all = [...(this.#exact.get(host) ?? []), ...wildcards];
    return Object.freeze([...new Set([...all.map((entry) => entry.item), ...this.#any])]);
  }
}
