// The fields at the root of an operation: which a sandbox may ask for, with which effect, and what they are bound to. All
// others are refused, also those that GitHub adds later.
import type { FieldNode } from 'graphql/language/index.js';
import { canonicalRepository } from '../../../../kit/text/repository-name.ts';
import type { GithubEffect } from '../../../../path/github-effects.ts';
import type { ArgumentValues } from './argument-values.ts';
import type { GraphqlInputs, InputField } from './graphql-inputs.ts';
import { readNodeId } from './node-id.ts';
import { notJudged, notTied } from './refuse-graphql.ts';
import type { SelectionPlace } from './walk-selection.ts';

/** What a root field asks for. */
export interface RootAsk {
  readonly name: string;
  /** null: asks for nothing that needs to be allowed. */
  readonly effect: GithubEffect | null;
  /** Repositories that are named in words. */
  readonly repositories: readonly string[];
  /** Nodes that must be tied. */
  readonly ids: readonly string[];
  /** How its selection begins; null: it has none that needs to be walked. */
  readonly start: Pick<SelectionPlace, 'view' | 'bound'> | null;
  /** The input of a mutation. */
  readonly input: ArgumentValues | null;
}

const nothing = { effect: null, repositories: [], ids: [], start: null, input: null } as const;

/** Fields without a repository: what is public, or says who the credential is. */
const freeRoots: ReadonlyMap<string, GithubEffect | null> = new Map<string, GithubEffect | null>([
  ['viewer', 'identity'],
  ['user', 'read-public'],
  ['organization', 'read-public'],
  ['license', 'read-public'],
  ['licenses', 'read-public'],
  ['codeOfConduct', 'read-public'],
  ['codesOfConduct', 'read-public'],
  ['meta', null],
  ['rateLimit', null],
]);

export function judgeQueryRoot(field: FieldNode, values: ArgumentValues): RootAsk {
  const name = field.name.value;
  const ask = { ...nothing, name };
  const free = freeRoots.get(name);
  if (free !== undefined) return { ...ask, effect: free, start: { view: 'full', bound: false } };
  switch (name) {
    // The schema itself is public.
    case '__typename':
    case '__schema':
    case '__type':
      return ask;
    case 'repository':
      return { ...ask, effect: 'read', repositories: [repositoryIn(values)], start: { view: 'full', bound: true } };
    case 'node':
    case 'nodes':
      return nodesIn(name, values);
    case 'search':
      return { ...ask, effect: 'read', repositories: [searchedIn(values)], start: { view: 'full', bound: false } };
    default:
      throw notJudged(
        `the query field ${name} is not one that a sandbox may ask for`,
        'Ask for repository(owner, name) of a repository of this sandbox, node(id), viewer or a search with repo:OWNER/NAME.',
      );
  }
}

/** `effectOf`: from the table of mutations; null for one that is not there. */
export function judgeMutationRoot(
  field: FieldNode,
  values: ArgumentValues,
  effectOf: (mutation: string) => GithubEffect | null,
  inputs: GraphqlInputs,
): RootAsk {
  const name = field.name.value;
  const ask = { ...nothing, name };
  if (name === '__typename') return ask;
  const effect = effectOf(name);
  if (effect === null) {
    throw notJudged(`the mutation ${name} is not known to this gateway`, 'Ask a person to do it, or use the REST API.');
  }
  const { input, ...others } = values;
  if (Object.keys(others).length > 0) throw notJudged(`${name} takes one argument, input`);
  const ids = nodeIdsOf(name, input, inputs);
  const checked = input as ArgumentValues;
  return {
    ...ask,
    effect: approves(name, checked) ? 'approve' : effect,
    repositories: namedIn(name, checked),
    ids,
    start: { view: 'full', bound: false },
    input: checked,
  };
}

/** An approval is a review with one word in it. Anything but the words GitHub knows could be that word in disguise. */
function approves(mutation: string, { event }: ArgumentValues): boolean {
  if (mutation !== 'addPullRequestReview' && mutation !== 'submitPullRequestReview') return false;
  return !(event === undefined || event === null || event === 'COMMENT' || event === 'REQUEST_CHANGES');
}

/** The one input that names a repository in words instead of by id. */
function namedIn(mutation: string, { branch }: ArgumentValues): string[] {
  if (mutation !== 'createCommitOnBranch' || typeof branch !== 'object' || branch === null) return [];
  const name = (branch as ArgumentValues).repositoryNameWithOwner;
  if (name === undefined || name === null) return [];
  const parts = typeof name === 'string' ? name.split('/') : [];
  const repository = parts.length === 2 ? canonicalRepository(parts[0]!, parts[1]!) : null;
  if (repository === null || repository !== String(name).toLowerCase()) {
    throw notJudged('repositoryNameWithOwner is not OWNER/NAME');
  }
  return [repository];
}

function repositoryIn({ owner, name }: ArgumentValues): string {
  const repository = typeof owner === 'string' && typeof name === 'string' ? canonicalRepository(owner, name) : null;
  if (repository === null) throw notJudged('repository(owner, name) does not name a repository');
  return repository;
}

function searchedIn({ query, type }: ArgumentValues): string {
  if (type !== 'ISSUE' && type !== 'ISSUE_ADVANCED' && type !== 'DISCUSSION') {
    throw notJudged('a search may look for issues and pull requests (type ISSUE) or discussions');
  }
  if (typeof query !== 'string') throw notJudged('the text of the search is not a string');
  return repositoryOfSearch(query);
}

function nodesIn(name: string, values: ArgumentValues): RootAsk {
  const given = name === 'node' ? [values.id] : Array.isArray(values.ids) ? values.ids : [values.ids];
  const ids = given.map((id) => requireNodeId(id, `${name} with id`));
  // Accounts are in no repository, and show no more than who they are.
  if (ids.length > 0 && ids.every((id) => readNodeId(id)!.isAccount)) {
    return { ...nothing, name, effect: 'read-public', start: { view: 'ref', bound: false } };
  }
  return { ...nothing, name, effect: 'read', ids, start: { view: 'full', bound: true } };
}

// Finds every node id in the input of a mutation, by the table of input types, wherever it is nested. A value of another
// form than the table says is refused: it could be read as an id by GitHub and not by us.
// References to people and teams: they are named, nothing of theirs is changed or shown. A bot that is made an assignee
// begins to work, so bots are not among them.
const accountArguments = new Set(['assigneeIds', 'userIds', 'teamIds']);

/** The ids that must be tied to a repository. */
function nodeIdsOf(mutation: string, input: unknown, inputs: GraphqlInputs): string[] {
  const fields = inputs.ofMutation(mutation);
  if (fields === null) throw notJudged(`the input of ${mutation} is not known`);
  const ids: string[] = [];
  collect(fields, input, `${mutation}.input`, inputs, ids);
  return ids;
}

function collect(
  fields: ReadonlyMap<string, InputField>,
  value: unknown,
  path: string,
  inputs: GraphqlInputs,
  ids: string[],
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notJudged(`${path} is not an object`);
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name);
    const place = `${path}.${name}`;
    if (field === undefined) throw notJudged(`${place} is not known`, 'Leave this field out.');
    if (field.type === null || inner === null) continue;
    // One value stands for a list of one.
    if (Array.isArray(inner) && !field.isList) throw notJudged(`${place} is a list`);
    for (const item of Array.isArray(inner) ? inner : [inner]) {
      if (field.type === 'ID') collectId(name, item, place, ids);
      else collect(inputs.ofType(field.type)!, item, place, inputs, ids);
    }
  }
}

function collectId(name: string, value: unknown, place: string, ids: string[]): void {
  const id = requireNodeId(value, place);
  if (readNodeId(id)!.isPerson && accountArguments.has(name)) return;
  ids.push(id);
}

/** A string in one of the forms of GitHub's ids; a number would be read as one too. */
function requireNodeId(value: unknown, place: string): string {
  if (typeof value === 'string' && readNodeId(value) !== null) return value;
  throw notTied(`${place} is not the id of a node`);
}

// Whether the text of a search stays within one repository of the sandbox. GitHub adds up several repo:, org: and user:
// qualifiers, and knows OR and brackets: so exactly one repo: and none of the rest, wherever in the text it stands.
// Qualifiers that narrow a search for issues and pull requests. All others could widen it.
const narrowing = new Set(
  `repo is state type author assignee mentions commenter involves label milestone in no has base head created updated closed
   merged comments interactions reactions draft review reviewed-by review-requested user-review-requested
   team-review-requested team status sort linked reason language archived locked app`.split(/\s+/),
);

// Words between plain spaces. A quote may stand only around a whole word or a whole value, so that there is one reading of
// where it ends: in quotes, repo: would be text and bind nothing.
const plainWord = /^[^\s"\\()]+$/;
const quotedWord = /^(-?[\w-]+:)?"[^"\\]*"$/;

/** The one repository that is searched. */
export function repositoryOfSearch(text: string): string {
  if (/[^\S ]/.test(text)) throw unbound('only plain spaces may stand between its words');
  const repositories: string[] = [];
  for (const word of text.match(/(?:[^ "]|"[^"]*"?)+/g) ?? []) {
    if (!plainWord.test(word) && !quotedWord.test(word)) throw unbound('brackets and stray quotes are not understood');
    if (/^(?:OR|NOT)$/i.test(word)) throw unbound('OR and NOT are not understood');
    const colon = word.startsWith('"') || word.startsWith('-"') ? -1 : word.indexOf(':');
    if (colon < 0) continue;
    const qualifier = word.slice(0, colon).toLowerCase();
    if (!narrowing.has(qualifier.replace(/^-/, ''))) throw unbound(`"${qualifier}:" does not narrow a search`);
    if (qualifier.endsWith('repo')) repositories.push(word);
  }
  const parts = /^repo:([\w.-]+)\/([\w.-]+)$/.exec(repositories[0] ?? '');
  const repository = parts === null ? null : canonicalRepository(parts[1]!, parts[2]!);
  if (repositories.length !== 1 || repository === null) throw unbound('it must name exactly one repository');
  return repository;
}

function unbound(what: string): Error {
  return notJudged(
    `this search is not bound to one repository: ${what}`,
    'Write repo:OWNER/NAME once, and only qualifiers such as is:, state:, author:, label:.',
  );
}
