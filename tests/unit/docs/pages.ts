// The project's own Markdown pages, read for the tests that keep them true. Leaves out what is installed or generated.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

export function allPages(): Page[] {
  const top = readdirSync(root).filter((name) => name.endsWith('.md'));
  const folders = [
    'docs',
    'docs/policy',
    'docs/threats',
    'docs/adr',
    'docs/research',
    'bench',
    'tests/security',
    'tests/support',
  ];
  const below = folders.flatMap((directory) =>
    readdirSync(join(root, directory))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${directory}/${name}`),
  );
  return [...top, ...below].map(readPage);
}

/** Without code, where brackets and hashes are not Markdown. */
export function prose(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'code');
}

/** The rows of the table under a heading, each as its cells; the title row and its rule left out. */
export function tableUnder({ text, path }: Page, heading: string, which = 0): string[][] {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start < 0) throw new Error(`${path} has no heading ${JSON.stringify(heading)}`);
  const tables: string[][][] = [];
  let open = false;
  for (const line of lines.slice(start + 1)) {
    if (/^#{1,3} /.test(line)) break;
    if (line.startsWith('|')) {
      if (!open) tables.push([]);
      tables.at(-1)!.push(cellsOf(line));
    }
    open = line.startsWith('|');
  }
  const rows = tables[which]?.slice(2) ?? [];
  if (rows.length === 0) throw new Error(`${path} has no table number ${which} under ${JSON.stringify(heading)}`);
  return rows;
}

function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Every `tests/…test.ts` that a text names. */
export function testsNamedIn(text: string): string[] {
  return text.match(/tests\/[\w/.-]+\.test\.ts/g) ?? [];
}
