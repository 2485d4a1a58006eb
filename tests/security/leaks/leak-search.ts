// Looks for planted secrets in everything that a gateway leaves behind: every spelling of each, in texts and in files. It says
// what it found where, never silently nothing: a place that is empty is a failure of the test.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Secrets by name. */
export type Planted = ReadonlyMap<string, string>;

/** Every way a value could be spelled, at any offset in the case of base64. */
export function spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  // As OAuth wants it in forms, and in Basic before base64.
  const form = encodeURIComponent(value).replace(
    /[-_.!~*'()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const base64 = [bytes, Buffer.from(form)].flatMap((one) =>
    [0, 1, 2].map((pad) =>
      Buffer.concat([Buffer.alloc(pad), one])
        .toString('base64')
        .replace(/=+$/, '')
        .slice(pad === 0 ? 0 : 4, -4),
    ),
  );
  const each = (spell: (hex: string) => string): string =>
    [...bytes].map((byte) => spell(byte.toString(16).padStart(2, '0'))).join('');
  const hex = bytes.toString('hex');
  return [
    ...new Set([
      value,
      [...value].reverse().join(''),
      encodeURIComponent(value),
      encodeURIComponent(value).toLowerCase(),
      form,
      JSON.stringify(value).slice(1, -1),
      JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
      value.replaceAll('/', '\\/'),
      hex,
      hex.toUpperCase(),
      each((pair) => `%${pair}`),
      each((pair) => `\\x${pair}`),
      each((pair) => `\\u00${pair}`),
      ...base64,
      ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    ]),
  ];
}

export class LeakSearch {
  readonly #forms: readonly (readonly [name: string, form: string])[];
  readonly #places = new Map<string, string[]>();

  constructor(planted: Planted) {
    this.#forms = [...planted].flatMap(([name, value]) => {
      if (value.length < 12) throw new Error(`${name} is too short to be looked for`);
      return spellings(value).map((form) => [name, form] as const);
    });
  }

  /** Something that was written, and where. */
  add(place: string, text: string): void {
    const texts = this.#places.get(place);
    if (texts === undefined) this.#places.set(place, [text]);
    else texts.push(text);
  }

  /** Every file below a directory, under the name of its first part: `journal`, `spool`, `run`. */
  addFiles(place: string, directory: string): void {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) this.addFiles(`${place}/${entry.name}`, path);
      else if (entry.isFile()) this.add(`${place}/${entry.name}`, readFileSync(path, 'latin1'));
    }
  }

  /** What of `text` can be read in a place, e.g. to see that the place is looked at. */
  placesWith(text: string): string[] {
    return [...this.#places].filter(([, texts]) => texts.some((one) => one.includes(text))).map(([place]) => place);
  }

  /** `secret in place`, for each that was found. */
  found(): string[] {
    const found = new Set<string>();
    for (const [place, texts] of this.#places) {
      const all = texts.join('\n');
      for (const [name, form] of this.#forms) if (all.includes(form)) found.add(`${name} in ${place}`);
    }
    return [...found].sort();
  }
}

/** Command line and environment of every process below `pid`, as others could read them. */
export function childrenOf(pid: number): string {
  let text = '';
  const own = read(`/proc/${pid}/cmdline`);
  for (const child of read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)) {
    // Born a moment ago, it is still the same program, and as closed as that.
    if (read(`/proc/${child}/cmdline`) === own) continue;
    text += `${read(`/proc/${child}/cmdline`)}\n${read(`/proc/${child}/environ`)}\n${childrenOf(Number(child))}`;
  }
  return text;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
