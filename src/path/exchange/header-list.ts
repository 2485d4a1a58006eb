// Header fields as they came: order, case and repetition kept. Lower-cased names are kept beside the raw ones
// because every stage looks fields up by them. Never merges or splits values.

export class HeaderList {
  /** Names as they came. */
  readonly names: string[];
  /** The same names in lower case, for look-ups. */
  readonly keys: string[];
  readonly values: string[];

  /** Takes over three arrays of equal length, as the HTTP/1.1 codec hands them out. */
  constructor(names: string[] = [], keys: string[] = [], values: string[] = []) {
    this.names = names;
    this.keys = keys;
    this.values = values;
  }

  get size(): number {
    return this.keys.length;
  }

  /** As HTTP/1.1 would write them. */
  get bytes(): number {
    let bytes = 0;
    for (let i = 0; i < this.names.length; i++) bytes += this.names[i]!.length + this.values[i]!.length + 4;
    return bytes;
  }

  append(name: string, value: string): this {
    this.names.push(name);
    this.keys.push(name.toLowerCase());
    this.values.push(value);
    return this;
  }

  /** The first value of a field; `key` in lower case. */
  get(key: string): string | undefined {
    const at = this.keys.indexOf(key);
    return at < 0 ? undefined : this.values[at];
  }

  has(key: string): boolean {
    return this.keys.includes(key);
  }

  getAll(key: string): string[] {
    const found: string[] = [];
    for (let i = 0; i < this.keys.length; i++) if (this.keys[i] === key) found.push(this.values[i]!);
    return found;
  }

  /** A copy without the fields whose lower-case name the predicate picks. */
  without(drop: (key: string) => boolean): HeaderList {
    const kept = new HeaderList();
    for (let i = 0; i < this.keys.length; i++) {
      const key = this.keys[i]!;
      if (drop(key)) continue;
      kept.names.push(this.names[i]!);
      kept.keys.push(key);
      kept.values.push(this.values[i]!);
    }
    return kept;
  }

  static from(pairs: Iterable<readonly [string, string]>): HeaderList {
    const list = new HeaderList();
    for (const [name, value] of pairs) list.append(name, value);
    return list;
  }
}
