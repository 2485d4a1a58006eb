// Reads YAML into a plain value that remembers where each part stood. Strict: YAML 1.2, one document, unique string
// keys, bounded size and aliases. Never interprets a key; never quotes the source in an error.
import { isAlias, isMap, isNode, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { type DocumentPath, formatPath, type PolicyError } from './policy-error.ts';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface YamlDocument {
  readonly file: string;
  readonly value: unknown;
  /** Where the value (or the key that leads to it) stands; of a missing one, the nearest part that is there. */
  locate(path: DocumentPath, at: 'key' | 'value'): Position;
}

export type ReadResult =
  | { readonly ok: true; readonly document: YamlDocument }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

// A policy is written by hand: a megabyte is far beyond any, and bounds what parsing can cost.
const maxBytes = 1024 * 1024;
const maxAliases = 50;

export function readDocument(text: string, file: string): ReadResult {
  if (Buffer.byteLength(text) > maxBytes) {
    return failed(file, { line: 1, column: 1 }, `the file is larger than ${maxBytes} bytes`);
  }
  const lines = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: true,
    strict: true,
    version: '1.2',
  });
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const errors: PolicyError[] = [];
  // A warning is a tag or directive that was not understood: read strictly, that is an error too.
  for (const problem of [...parsed.errors, ...parsed.warnings]) {
    errors.push({ file, ...positionOf(problem.pos[0]), path: '', message: explain(problem.code, problem.message) });
  }
  if (errors.length === 0 && parsed.directives?.yaml.explicit && parsed.directives.yaml.version !== '1.2') {
    const message = 'only YAML 1.2 is read: remove the %YAML line';
    errors.push({ file, line: 1, column: 1, path: '', message });
  }
  if (errors.length > 0) return { ok: false, errors };
  let value: unknown;
  try {
    value = parsed.toJS({ maxAliasCount: maxAliases });
  } catch {
    return failed(file, { line: 1, column: 1 }, 'aliases (*name) are nested too deep or used too often: write it out');
  }
  const locate = (path: DocumentPath, at: 'key' | 'value'): Position => {
    const node = findNode(parsed.contents, path, at, (alias) => (isAlias(alias) ? alias.resolve(parsed) : alias));
    return node?.range ? positionOf(node.range[0]) : { line: 1, column: 1 };
  };
  return { ok: true, document: { file, value, locate } };
}

function findNode(
  root: Node | null,
  path: DocumentPath,
  at: 'key' | 'value',
  resolve: (node: Node) => Node | undefined,
): Node | null {
  let node = root;
  let nearest = root;
  for (const [depth, step] of path.entries()) {
    const here: Node | undefined = node ? resolve(node) : undefined;
    let next: unknown;
    if (isMap(here)) {
      const pair = here.items.find((item) => isNode(item.key) && keyText(item.key) === String(step));
      if (!pair) return nearest;
      nearest = isNode(pair.key) ? pair.key : nearest;
      if (at === 'key' && depth === path.length - 1) return nearest;
      next = pair.value;
    } else if (isSeq(here)) {
      next = here.items[Number(step)];
    }
    if (!isNode(next)) return nearest;
    node = next;
    nearest = next;
  }
  return nearest;
}

function keyText(key: Node): string {
  return 'value' in key ? String(key.value) : '';
}

function explain(code: string, message: string): string {
  switch (code) {
    case 'DUPLICATE_KEY':
      return 'this key is already there: keep one of the two';
    case 'TAB_AS_INDENT':
      return 'a tab cannot indent YAML: use spaces';
    case 'MULTIPLE_DOCS':
      return 'only one document is read: remove the --- and what follows';
    case 'TAG_RESOLVE_FAILED':
      return 'tags (!name) are not read here: write a plain value';
    default:
      return `not valid YAML: ${message}`;
  }
}

function failed(file: string, at: Position, message: string): ReadResult {
  return { ok: false, errors: [{ file, ...at, path: formatPath([]), message }] };
}
