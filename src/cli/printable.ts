// Text for a terminal. What came from a sandbox or an upstream (a path, a host, an error) may hold escape sequences
// that rewrite the screen or the clipboard; none of them gets through. Also: columns.

/** C0, DEL, C1, and the marks that turn the direction of writing around. */
// Ranges and not a regular expression, where control characters are easily mistaken for a slip.
const unsafeRanges: readonly (readonly [number, number])[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x061c, 0x061c],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2069],
  [0xd800, 0xdfff],
  [0xfeff, 0xfeff],
];

/** Replaces each unsafe character by its code, e.g. `\x1b`. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
  let clean = '';
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const unsafe = unsafeRanges.some(([from, to]) => code >= from && code <= to);
    clean += unsafe ? escaped(code) : character;
  }
  return clean;
}

function escaped(code: number): string {
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Rows under their titles, columns as wide as their widest cell; the last one is not padded. */
export function columns(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = titles.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] ?? '').length)));
  return [titles, ...rows].map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd(),
  );
}

/** A list for a cell: `a, b`, or a dash. */
export function joined(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(printable).join(', ');
  const text = printable(value);
  return text === '' ? '-' : text;
}
