// The Public Suffix List, with its private part: under which names anybody can register one. The list itself and not only an
// answer for a host: a wildcard also reaches every suffix below it, and only the list knows those. Read when somebody asks.
// The package's form of it is its own affair and may change with a version: tests/oracles/public-suffixes.test.ts holds the two
// to each other.
import {
  edgeChild,
  edgeLength,
  edgeStart,
  exceptionsRoot,
  labelText,
  nodeFlags,
  rulesRoot,
} from 'tldts/dist/cjs/src/data/trie.js';

export interface PublicSuffixes {
  /** As they stand in the list, e.g. `co.uk` or `*.ck`; true: of its private part. */
  readonly rules: ReadonlyMap<string, boolean>;
  /** What a rule with a star leaves out, e.g. `www.ck`. */
  readonly exceptions: ReadonlySet<string>;
  /** The names that have a suffix somewhere below them. */
  readonly above: ReadonlySet<string>;
}

/** What the package marks a rule of the private part with. */
const isPrivate = 2;

let list: PublicSuffixes | null = null;

export function publicSuffixes(): PublicSuffixes {
  list ??= readList();
  return list;
}

/** The suffix that a name ends in, by the longest rule; where none is known, its last label. */
export function suffixOf(name: string): { readonly suffix: string; readonly isPrivate: boolean } {
  const { rules, exceptions } = publicSuffixes();
  for (const tail of tailsOf(name)) if (exceptions.has(tail)) return { suffix: parentOf(tail), isPrivate: false };
  for (const tail of tailsOf(name)) {
    const kind = rules.get(tail) ?? rules.get(`*.${parentOf(tail)}`);
    if (kind !== undefined) return { suffix: tail, isPrivate: kind };
  }
  return { suffix: name.slice(name.lastIndexOf('.') + 1), isPrivate: false };
}

/** What somebody has registered: one label more than the suffix. Null: the name is a suffix itself. */
export function registrableDomain(name: string): string | null {
  const { suffix } = suffixOf(name);
  if (suffix.length === name.length) return null;
  const before = name.slice(0, -suffix.length - 1);
  return `${before.slice(before.lastIndexOf('.') + 1)}.${suffix}`;
}

function readList(): PublicSuffixes {
  const starts = new Uint32Array(edgeLength.length + 1);
  for (let edge = 0; edge < edgeLength.length; edge++) starts[edge + 1] = starts[edge]! + edgeLength[edge]!;
  const rules = new Map<string, boolean>();
  const above = new Set<string>();
  const exceptions = new Set<string>();
  const walk = (node: number, name: string, found: (name: string, flags: number) => void): void => {
    for (let edge = edgeStart[node]!; edge < edgeStart[node + 1]!; edge++) {
      const label = labelText.slice(starts[edge], starts[edge + 1]);
      const child = edgeChild[edge]!;
      const below = name === '' ? label : `${label}.${name}`;
      if (nodeFlags[child] !== 0) found(below, nodeFlags[child]!);
      walk(child, below, found);
    }
  };
  walk(rulesRoot, '', (name, flags) => {
    rules.set(name, flags === isPrivate);
    for (const tail of tailsOf(parentOf(name))) above.add(tail);
  });
  walk(exceptionsRoot, '', (name) => exceptions.add(name));
  return { rules, above, exceptions };
}

/** `a.b.c`, `b.c`, `c`. */
function tailsOf(name: string): string[] {
  const tails: string[] = [];
  for (let tail = name; tail !== ''; tail = parentOf(tail)) tails.push(tail);
  return tails;
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}
