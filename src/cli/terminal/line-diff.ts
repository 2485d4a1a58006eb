// What changed between two texts, line by line, for a person: `-` is gone, `+` is new, and the lines around are left out. Pure.

/** Above that all of it counts as changed: a comparison of every line with every other would take too long. */
const maxCells = 4_000_000;

export function lineDiff(before: string, now: string): string[] {
  const [a, b] = [linesOf(before), linesOf(now)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  return changes(a.slice(start, endA), b.slice(start, endB));
}

function changes(a: readonly string[], b: readonly string[]): string[] {
  if (a.length * b.length > maxCells) return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)];
  // How many lines the two have in common, in order, from here to their ends.
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j]!;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const isGone = i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1));
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (isGone) {
      out.push(`- ${a[i]}`);
      i++;
    } else {
      out.push(`+ ${b[j]}`);
      j++;
    }
  }
  return out;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
