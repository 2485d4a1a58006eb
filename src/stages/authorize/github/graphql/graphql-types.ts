// The table of GitHub's types (config/github/graphql-types.txt) as the judge reads it: which fields a query may select,
// and where they lead. Read once; a mistake in it is a fault of the package and stops the start. What is not in the table
// does not exist for the judge.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../../../kit/files/package-root.ts';

/** `full`: in the same repository. `ref`: perhaps in another one, so that only facts may be seen. */
export type View = 'full' | 'ref';

export interface GraphqlEdge {
  readonly type: string;
  readonly view: View;
}

export interface GraphqlType {
  readonly name: string;
  readonly sensitive: boolean;
  readonly leaves: ReadonlySet<string>;
  readonly edges: ReadonlyMap<string, GraphqlEdge>;
  /** Fields that may be seen where it may be in another repository; null: all of the above. */
  readonly facts: ReadonlySet<string> | null;
  /** Known and never selected, or new and not yet decided: refused all the same. */
  readonly closed: ReadonlySet<string>;
}

export type GraphqlTypes = ReadonlyMap<string, GraphqlType>;

// src/… and dist/… are both four below the package root.
const typesFile = inPackage('config', 'github', 'graphql-types.txt');

let loaded: GraphqlTypes | null = null;

export function loadGraphqlTypes(): GraphqlTypes {
  loaded ??= readGraphqlTypes(readFileSync(typesFile, 'utf8'));
  return loaded;
}

class TypeDraft implements GraphqlType {
  readonly leaves = new Set<string>();
  readonly edges = new Map<string, GraphqlEdge>();
  readonly closed = new Set<string>();
  facts: Set<string> | null = new Set<string>();
  readonly name: string;
  readonly sensitive: boolean;

  constructor(name: string, sensitive: boolean) {
    this.name = name;
    this.sensitive = sensitive;
  }

  has(field: string): boolean {
    return this.leaves.has(field) || this.edges.has(field) || this.closed.has(field);
  }
}

export function readGraphqlTypes(text: string): GraphqlTypes {
  const types = new Map<string, TypeDraft>();
  let current: TypeDraft | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const words = line.split(' ').filter((word) => word !== '');
    const [key, ...rest] = words;
    if (key === undefined || key.startsWith('#')) continue;
    const broken = (what: string) => new Error(`graphql-types.txt:${index + 1}: ${what}`);
    if (key === 'type') {
      const [name, mark] = rest;
      if (name === undefined || types.has(name)) throw broken('a type has one name and stands here once');
      if (rest.length > 2 || (mark !== undefined && mark !== 'sensitive')) throw broken(`what is "${rest[1]}"?`);
      current = new TypeDraft(name, mark === 'sensitive');
      types.set(name, current);
    } else if (current === null) {
      throw broken('fields come after their type');
    } else {
      for (const word of rest) addField(current, key, word, broken);
    }
  }
  for (const type of types.values()) checkTargets(type, types);
  return types;
}

function addField(type: TypeDraft, key: string, word: string, broken: (what: string) => Error): void {
  if (key === 'facts') {
    if (word === '*') type.facts = null;
    else type.facts?.add(word);
    return;
  }
  const colon = word.indexOf(':');
  const field = colon < 0 ? word : word.slice(0, colon);
  if (type.has(field)) throw broken(`${type.name}.${field} stands here twice`);
  if (key === 'leaf' && colon < 0) type.leaves.add(field);
  else if ((key === 'full' || key === 'ref') && colon > 0) {
    type.edges.set(field, { type: word.slice(colon + 1), view: key });
  } else if (key === 'closed' || key === 'new') type.closed.add(field);
  else throw broken(`"${key} ${word}" is not understood`);
}

function checkTargets(type: GraphqlType, types: GraphqlTypes): void {
  for (const [field, edge] of type.edges) {
    if (!types.has(edge.type)) {
      throw new Error(`graphql-types.txt: ${type.name}.${field} leads to ${edge.type}, which is not there`);
    }
  }
  for (const field of type.facts ?? []) {
    if (!type.leaves.has(field) && !type.edges.has(field)) {
      throw new Error(`graphql-types.txt: ${type.name}.${field} is one of the facts and not one of the fields`);
    }
  }
}
