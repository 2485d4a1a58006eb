// Text in the cells of a terminal: how wide it is, cut to a width, broken into lines. For text that is printable already
// (printable.ts); colours are put on afterwards, since they have no width.

/**
 * Drawn over two cells, by East Asian Width of Unicode, gaps and blocks of pictures included: a line that is counted too wide is
 * cut early, one that is counted too narrow loses its end on the screen.
 */
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x1b2ff],
  [0x1d300, 0x1d37f],
  [0x1f000, 0x1faff],
  [0x20000, 0x3fffd],
];

/** The pictures among narrow symbols: U+2705, U+26A1 and their like. */
const picture = /^\p{Emoji_Presentation}$/u;
const marks = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += cellsOf(character);
  return width;
}

function cellsOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x300) return 1;
  if (marks.test(character)) return 0;
  return picture.test(character) || wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

/** Exactly so many cells: cut with `…`, or filled with blanks. */
export function fillTo(text: string, cells: number): string {
  const cut = cutTo(text, cells);
  return cut + ' '.repeat(Math.max(0, cells - widthOf(cut)));
}

/** At most so many cells; what is cut ends in `…`. */
export function cutTo(text: string, cells: number): string {
  if (cells <= 0) return '';
  if (widthOf(text) <= cells) return text;
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += cellsOf(character);
    if (width > cells - 1) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}

/** Lines of at most so many cells, broken anywhere: an address has no blanks. At most `most`; then the last ends in `…`. */
export function wrap(text: string, cells: number, most: number): string[] {
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const character of text) {
    const next = cellsOf(character);
    if (width + next > cells && line !== '') {
      lines.push(line);
      line = '';
      width = 0;
    }
    line += character;
    width += next;
  }
  lines.push(line);
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), cutTo(lines[most - 1]! + lines[most]!, cells)];
}
