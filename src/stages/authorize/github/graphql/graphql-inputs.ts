// The table of the input types of GitHub's mutations (config/github/graphql-inputs.txt): where in an input node ids stand.
// Read once; a mistake in it stops the start. A field that is not in the table is one nobody has looked at.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../../../kit/files/package-root.ts';

export interface InputField {
  /** `ID`, the name of another input type, or null for a plain value. */
  readonly type: string | null;
  readonly isList: boolean;
}

export interface GraphqlInputs {
  /** The fields of the input of a mutation; null for one that is not in the table. */
  ofMutation(name: string): ReadonlyMap<string, InputField> | null;
  ofType(name: string): ReadonlyMap<string, InputField> | null;
}

const inputsFile = inPackage('config', 'github', 'graphql-inputs.txt');

let loaded: GraphqlInputs | null = null;

export function loadGraphqlInputs(): GraphqlInputs {
  loaded ??= readGraphqlInputs(readFileSync(inputsFile, 'utf8'));
  return loaded;
}

export function readGraphqlInputs(text: string): GraphqlInputs {
  const inputs = new Map<string, Map<string, InputField>>();
  const named = new Map<string, string>();
  let current: Map<string, InputField> | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const words = line.split(' ').filter((word) => word !== '');
    const first = words[0];
    if (first === undefined || first.startsWith('#')) continue;
    const broken = (what: string) => new Error(`graphql-inputs.txt:${index + 1}: ${what}`);
    if (!line.startsWith(' ')) {
      const [, name, type] = words;
      if (first === 'mutation' && name !== undefined && type !== undefined) named.set(name, type);
      else if (first === 'input' && name !== undefined && !inputs.has(name)) {
        current = new Map();
        inputs.set(name, current);
      } else throw broken(`"${line}" is not understood, or stands here twice`);
      continue;
    }
    if (current === null) throw broken('fields come after their input');
    for (const word of words) {
      const parts = /^(\w+)(?::(\[)?(\w+)\]?)?$/.exec(word);
      if (parts === null || current.has(parts[1]!)) throw broken(`"${word}" is not understood, or stands here twice`);
      current.set(parts[1]!, { type: parts[3] ?? null, isList: parts[2] !== undefined });
    }
  }
  return {
    ofMutation: (name) => inputs.get(named.get(name) ?? `${name[0]?.toUpperCase()}${name.slice(1)}Input`) ?? null,
    ofType: (name) => inputs.get(name) ?? null,
  };
}
