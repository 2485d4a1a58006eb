// One entry of `allow` as it is written into a file: the text of a line, and the value that must be read back from it. What a
// sandbox has a say in (a path, a name in a comment) is written so that it can be nothing else: plain ASCII, quoted.

export interface AllowEntry {
  /** This, or `host` and the rest. */
  readonly preset?: string;
  readonly host?: string;
  readonly methods?: readonly string[];
  readonly paths?: readonly string[];
  readonly ports?: readonly number[];
  readonly plain_http?: true;
  readonly tunnel?: true;
  /** Said behind it; left out where there is no room for comments. Not part of what it means. */
  readonly comment?: string;
}

/** As it stands in a list within a line: `{ host: api.example.com, methods: [GET] }`. */
export function inlineEntry({ comment: _, ...entry }: AllowEntry): string {
  const pairs = Object.entries(entry).map(([key, value]) => `${key}: ${written(value)}`);
  return `{ ${pairs.join(', ')} }`;
}

/** As a line of a list, after its indentation. */
export function entryLine(entry: AllowEntry): string {
  const { comment, preset } = entry;
  const said = comment === undefined ? '' : `  # ${asComment(comment)}`;
  return `- ${preset === undefined ? inlineEntry(entry) : `preset: ${written(preset)}`}${said}`;
}

/** What the document then holds. */
export function entryValue({ comment: _, ...entry }: AllowEntry): Readonly<Record<string, unknown>> {
  return entry;
}

// Words that no reader of YAML takes for a number, a date, a truth or a mark of its own.
const plainWord = /^[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*)*$/;
const notWords = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value !== 'string') return String(value);
  return plainWord.test(value) && !notWords.test(value) ? value : quoted(value);
}

/** Double quotes with everything but plain ASCII as a code: no mark that turns the writing around is left in it. */
function quoted(text: string): string {
  let out = '';
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (character === '"' || character === '\\') out += `\\${character}`;
    else if (code >= 0x20 && code < 0x7f) out += character;
    else if (code < 0x10000) out += `\\u${code.toString(16).padStart(4, '0')}`;
    else out += `\\U${code.toString(16).padStart(8, '0')}`;
  }
  return `"${out}"`;
}

/** A comment ends with its line, and nothing in it may end the line. */
function asComment(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
