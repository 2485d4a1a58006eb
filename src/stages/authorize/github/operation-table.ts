// Reads the tables under config/github: what every operation of GitHub's REST API and every GraphQL mutation does.
// A line it does not understand, an operation named twice or without an effect stops the start: never half a table.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../../kit/files/package-root.ts';
import { effectsWithoutRepository, type GithubEffect, githubEffects } from '../../../path/github-effects.ts';

export interface RestLine {
  readonly method: string;
  /** As GitHub writes it, e.g. `/repos/{owner}/{repo}/contents/{path}`. */
  readonly template: string;
  readonly effect: GithubEffect;
  /** The parameter that may hold slashes (written `{+path}` in the table); null: none. */
  readonly spans: string | null;
  readonly line: number;
}

export interface RestTable {
  readonly operations: readonly RestLine[];
  /** Parameters that are numbers wherever they stand. */
  readonly numbers: ReadonlySet<string>;
  /** Second names of a whole family of paths: what begins with `from` is served under `to` as well. */
  readonly aliases: readonly { readonly from: string; readonly to: string }[];
}

/** How a root field of Query is tied down; what each means stands at the head of config/github/graphql.txt. */
const queryRoots = ['repository', 'node', 'nodes', 'identity', 'actor', 'public', 'search', 'refused'] as const;
export type QueryRoot = (typeof queryRoots)[number];

export interface GraphqlTable {
  readonly mutations: ReadonlyMap<string, GithubEffect>;
  readonly queries: ReadonlyMap<string, QueryRoot>;
}

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const wholePath =
  /^\/(?:[^/{}]+|\{\+?[\w-]+\}|\{base\}\.\.\.\{head\})?(?:\/(?:[^/{}]+|\{\+?[\w-]+\}|\{base\}\.\.\.\{head\}))*$/;

const namesRepository = /\{(?:template_)?owner\}\/\{(?:template_)?repo\}|^\/repositories\/\{repository_id\}/;

let rest: RestTable | null = null;
let graphql: GraphqlTable | null = null;

export function loadRestTable(): RestTable {
  rest ??= readShipped('rest.txt', readRestTable);
  return rest;
}

export function loadGraphqlTable(): GraphqlTable {
  graphql ??= readShipped('graphql.txt', readGraphqlTable);
  return graphql;
}

function readShipped<Table>(name: string, read: (text: string, file: string) => Table): Table {
  const file = inPackage('config', 'github', name);
  return read(readFileSync(file, 'utf8'), file);
}

export function readRestTable(text: string, file: string): RestTable {
  const operations: RestLine[] = [];
  const numbers = new Set<string>();
  const aliases: { from: string; to: string }[] = [];
  const seen = new Map<string, number>();
  readLines(text, file, (words, line) => {
    const [first, second, third] = words;
    if (first === 'number') {
      for (const name of words.slice(1)) numbers.add(name);
      return words.length > 1 ? null : 'names no parameter';
    }
    if (words.length !== 3) return 'is not `METHOD /path effect`';
    if (first === 'alias') {
      aliases.push({ from: second!, to: third! });
      return wholePath.test(second!) && wholePath.test(third!) ? null : 'holds a path that cannot be read';
    }
    if (!methods.has(first!)) return `has the unknown method ${first}`;
    if (!wholePath.test(second!)) return `has a path that cannot be read: ${second}`;
    const spans = [...second!.matchAll(/\{\+([\w-]+)\}/g)].map(([, name]) => name!);
    if (spans.length > 1) return 'has two parameters that hold slashes';
    const fault = faultOfEffect(third!);
    if (fault !== null) return fault;
    const template = second!.replace('{+', '{');
    const effect = third as GithubEffect;
    // Allowed for the repositories of a sandbox, it would be allowed for every organisation and for the account.
    if (!namesRepository.test(template) && !effectsWithoutRepository.has(effect)) {
      return `names no repository, and ${effect} is an effect on one; the same elsewhere is organisation or user`;
    }
    const key = `${first} ${template}`;
    const before = seen.get(key);
    if (before !== undefined) return `repeats line ${before}: ${key}`;
    seen.set(key, line);
    operations.push({ method: first!, template, effect, spans: spans[0] ?? null, line });
    return null;
  });
  return { operations, numbers, aliases };
}

export function readGraphqlTable(text: string, file: string): GraphqlTable {
  const mutations = new Map<string, GithubEffect>();
  const queries = new Map<string, QueryRoot>();
  readLines(text, file, ([kind, name, word, ...rest]) => {
    if (name === undefined || word === undefined || rest.length > 0 || !/^[A-Za-z]\w*$/.test(name)) {
      return 'is not `mutation NAME effect` or `query NAME how`';
    }
    if (kind === 'mutation') {
      if (mutations.has(name)) return `repeats the mutation ${name}`;
      const fault = faultOfEffect(word);
      if (fault === null) mutations.set(name, word as GithubEffect);
      return fault;
    }
    if (kind !== 'query') return `begins with ${kind}, not with mutation or query`;
    if (queries.has(name)) return `repeats the query ${name}`;
    if (!(queryRoots as readonly string[]).includes(word)) return `has ${unclassified(word, queryRoots)}`;
    queries.set(name, word as QueryRoot);
    return null;
  });
  return { mutations, queries };
}

/** Hands every line that says something to `take`, which returns what is wrong with it; all that is wrong is told at once. */
function readLines(text: string, file: string, take: (words: readonly string[], line: number) => string | null): void {
  const faults: string[] = [];
  for (const [index, content] of text.split('\n').entries()) {
    const said = content.replace(/#.*$/, '').trim();
    if (said === '') continue;
    const fault = take(said.split(/\s+/), index + 1);
    if (fault !== null) faults.push(`${file}:${index + 1}: this line ${fault}`);
  }
  if (faults.length > 0) throw new Error(`the table of GitHub's operations is broken:\n${faults.join('\n')}`);
}

function faultOfEffect(word: string): string | null {
  return Object.hasOwn(githubEffects, word) ? null : `has ${unclassified(word, Object.keys(githubEffects))}`;
}

function unclassified(word: string, known: readonly string[]): string {
  if (word !== '?') return `the unknown effect ${word}; known: ${known.join(' ')}`;
  return 'no effect yet (?): a person has to say what the operation does';
}
