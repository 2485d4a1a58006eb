// Text for a terminal. What came from a sandbox or an upstream (a path, a host, an error) may hold escape sequences
// that rewrite the screen or the clipboard; none of them gets through, nor anything that nobody would see. Also: columns.
import { escapeUnseen } from '../../kit/text/unseen.ts';

/** Replaces each unsafe character by its code, e.g. `\x1b`. */
export function printable(value: unknown): string {
  return escapeUnseen(typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value));
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
