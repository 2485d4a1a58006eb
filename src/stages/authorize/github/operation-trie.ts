// The table of REST operations as a trie over path segments: literals before parameters, parameters before those that
// hold slashes. Finds the most particular operation for a path; never matches a part of a path only.
import type { RestLine, RestTable } from './operation-table.ts';

export interface TemplatePart {
  /** Name of the parameter; null: a literal. */
  readonly name: string | null;
  readonly text: string;
  readonly isNumber: boolean;
  readonly spans: boolean;
}

/** An operation at one of the paths it is served under. */
export interface PlacedOperation {
  readonly line: RestLine;
  readonly parts: readonly TemplatePart[];
  /** Where the segments that name a repository stand: owner and name, its number alone, or nothing. */
  readonly repositoryAt: readonly number[];
}

/** Ways to read a path that are wider than GitHub's own. */
export interface PathReading {
  /** The segments are in lower case, and so are the literals they are compared with. */
  readonly folded: boolean;
  /** A number may be any word. */
  readonly anyNumber: boolean;
}

export interface OperationTrie {
  find(method: string, segments: readonly string[], how?: PathReading): PlacedOperation | null;
}

const asGithub: PathReading = { folded: false, anyNumber: false };

interface TrieNode {
  readonly literals: Map<string, TrieNode>;
  readonly folded: Map<string, TrieNode>;
  parameter: TrieNode | null;
  span: TrieNode | null;
  readonly operations: Map<string, PlacedOperation>;
}

export function plantOperations(table: RestTable): OperationTrie {
  const root = newNode();
  for (const line of table.operations) plant(root, table, line, line.template);
  // Second names come last: where GitHub itself describes such a path, its own line stands.
  for (const { from, to } of table.aliases) {
    for (const line of table.operations) {
      const rest = line.template.slice(from.length);
      if (line.template.startsWith(from) && (rest === '' || rest.startsWith('/'))) plant(root, table, line, to + rest);
    }
  }
  return {
    find: (method, segments, how = asGithub) => walk(root, method, segments, 0, how),
  };
}

function newNode(): TrieNode {
  return { literals: new Map(), folded: new Map(), parameter: null, span: null, operations: new Map() };
}

function plant(root: TrieNode, table: RestTable, line: RestLine, template: string): void {
  const parts = partsOf(template, line, table.numbers);
  let node = root;
  for (const part of parts) node = childFor(node, part);
  const before = node.operations.get(line.method);
  if (before === undefined) {
    node.operations.set(line.method, { line, parts, repositoryAt: repositoryPlaces(parts) });
  } else if (before.line.effect !== line.effect) {
    throw new Error(
      `the table of GitHub's operations is broken: lines ${before.line.line} and ${line.line} are the same path ` +
        `(${line.method} ${template}) with different effects, ${before.line.effect} and ${line.effect}`,
    );
  }
}

function partsOf(template: string, line: RestLine, numbers: ReadonlySet<string>): TemplatePart[] {
  if (template === '/') return [];
  return template
    .slice(1)
    .split('/')
    .map((text) => {
      const name = text.startsWith('{') ? text.slice(1, -1) : null;
      // `{base}...{head}` is GitHub's older way to write `{basehead}`, which holds slashes.
      const spans = name !== null && (name === line.spans || text.includes('}...{'));
      return { name, text, isNumber: name !== null && numbers.has(name), spans };
    });
}

function childFor(node: TrieNode, { name, text, spans }: TemplatePart): TrieNode {
  if (name !== null) {
    if (spans) {
      node.span ??= newNode();
      return node.span;
    }
    node.parameter ??= newNode();
    return node.parameter;
  }
  let child = node.literals.get(text);
  if (child === undefined) {
    child = newNode();
    node.literals.set(text, child);
    if (node.folded.has(text.toLowerCase())) throw new Error(`${text} stands in the table in two spellings of case`);
    node.folded.set(text.toLowerCase(), child);
  }
  return child;
}

/** `/repos/OWNER/NAME` and its kin, wherever they stand in the path; `/repositories/ID` only at its beginning. */
function repositoryPlaces(parts: readonly TemplatePart[]): number[] {
  if (parts[0]?.text === 'repositories' && parts[1]?.name === 'repository_id') return [1];
  const owner = parts.findIndex(({ name }) => name === 'owner' || name === 'template_owner');
  const next = parts[owner + 1]?.name;
  return owner >= 0 && (next === 'repo' || next === 'template_repo') ? [owner, owner + 1] : [];
}

function walk(
  node: TrieNode,
  method: string,
  segments: readonly string[],
  at: number,
  how: PathReading,
): PlacedOperation | null {
  if (at === segments.length) {
    const operation = node.operations.get(method);
    return operation !== undefined && (how.anyNumber || numbersAreNumbers(operation, segments)) ? operation : null;
  }
  const literal = (how.folded ? node.folded : node.literals).get(segments[at]!);
  if (literal !== undefined) {
    const found = walk(literal, method, segments, at + 1, how);
    if (found !== null) return found;
  }
  if (node.parameter !== null) {
    const found = walk(node.parameter, method, segments, at + 1, how);
    if (found !== null) return found;
  }
  if (node.span === null) return null;
  // A template has one span at most, so this never nests. What is left for the literals behind it comes first.
  for (let end = at + 1; end <= segments.length; end++) {
    const found = walk(node.span, method, segments, end, how);
    if (found !== null) return found;
  }
  return null;
}

// Where GitHub expects a number, a word is no number spelled oddly but an operation that the table does not know.
function numbersAreNumbers({ parts }: PlacedOperation, segments: readonly string[]): boolean {
  const extra = segments.length - parts.length;
  let at = 0;
  for (const { isNumber, spans } of parts) {
    if (isNumber && !isDigits(segments[at]!)) return false;
    at += spans ? 1 + extra : 1;
  }
  return true;
}

function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > 20) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}
