// May this GraphQL request go to GitHub. Every operation of its document is judged, not only the one that would run; what
// is sent is printed from what was judged. Pure but for its ports. What it does not understand it refuses.
// Guards: threats.md T8, T28
import {
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql/language/index.js';
import { effectsWithoutRepository, type GithubEffect } from '../../../../path/github-effects.ts';
import { Refusal } from '../../../../path/refusal.ts';
import type { AuthMode } from '../../../../path/sandbox.ts';
import { mentionsAgent } from '../agent-mention.ts';
import { effectNotAllowed } from '../demand-effect.ts';
import { VariableValues } from './argument-values.ts';
import { loadGraphqlInputs } from './graphql-inputs.ts';
import { loadGraphqlTypes } from './graphql-types.ts';
import { judgeMutationRoot, judgeQueryRoot, type RootAsk } from './judge-root.ts';
import type { NodeFacts, NodeResolver } from './node-facts.ts';
import { readNodeId } from './node-id.ts';
import { type GraphqlRequest, readGraphqlRequest, writeGraphqlBody } from './read-graphql-request.ts';
import { type RefRules, readRefWrites, refuseOddPull } from './ref-write.ts';
import { notJudged, notOfSandbox, notTied } from './refuse-graphql.ts';
import { refuseDirectives, SelectionWalk } from './walk-selection.ts';

export interface GraphqlQuestion {
  readonly method: string;
  /** What stands after `?` in the address; null or empty: nothing. */
  readonly query: string | null;
  readonly contentType: string | null;
  readonly body: Buffer;
  readonly mode: AuthMode;
  /** What the policy allows this sandbox, which is of that mode. */
  readonly effects: ReadonlySet<GithubEffect>;
  /** Whether a repository, as canonical `owner/name`, is one of the sandbox's. */
  readonly covers: (repository: string) => boolean;
  /** The effect of a mutation by the table; null: it is not there. */
  readonly mutationEffect: (name: string) => GithubEffect | null;
  readonly nodes: NodeResolver;
  readonly refs: RefRules;
}

export type GraphqlVerdict =
  | {
      readonly allowed: true;
      /** Canonical, every repository that is read or written. */
      readonly repositories: readonly string[];
      readonly effects: readonly GithubEffect[];
      /** What is asked for, for the journal: `mutation createIssue`, `query repository`. */
      readonly asked: readonly string[];
      /** To be sent in the place of the body that came. */
      readonly body: Buffer;
    }
  | { readonly allowed: false; readonly refusal: Refusal };

/** Each may have to be asked for; GitHub itself takes no more at once. */
const maxNodes = 100;

/** Mutations with these write what people and agents read; a draft in a project becomes an issue. */
const carriesText: ReadonlySet<GithubEffect> = new Set<GithubEffect>([
  'issue',
  'pull',
  'review',
  'approve',
  'discussion',
  'project',
]);

export async function judgeGraphql(question: GraphqlQuestion): Promise<GraphqlVerdict> {
  try {
    return await judge(question);
  } catch (error) {
    if (error instanceof Refusal) return { allowed: false, refusal: error };
    throw error;
  }
}

async function judge(question: GraphqlQuestion): Promise<GraphqlVerdict> {
  refuseOtherForms(question);
  const request = readGraphqlRequest(question.body);
  const asks = request.operations.flatMap((operation) => judgeOperation(operation, request, question));
  refuseWritesBesideOthers(asks);
  const callsAgent = asks.some(
    ({ effect, input }) => effect !== null && carriesText.has(effect) && mentionsAgent(input),
  );
  if (callsAgent && !question.effects.has('agent')) {
    throw effectNotAllowed('agent', 'a text that calls an agent by name', question.mode);
  }
  const repositories = new Set<string>();
  for (const repository of asks.flatMap((ask) => ask.repositories)) {
    if (!question.covers(repository)) throw notOfSandbox(repository);
    repositories.add(repository);
  }
  const nodes = await tieNodes(
    asks.flatMap(({ ids }) => ids),
    question,
  );
  for (const { repository } of nodes.values()) repositories.add(repository);
  for (const ask of asks) await judgeWrites(ask, nodes, question);
  const effects = new Set(asks.flatMap(({ effect }) => effect ?? []));
  if (callsAgent) effects.add('agent');
  return {
    allowed: true,
    repositories: [...repositories],
    effects: [...effects],
    asked: asks.map(({ name, input }) => `${input === null ? 'query' : 'mutation'} ${name}`),
    body: writeGraphqlBody({ ...request, document: withoutRenames(request.document) }),
  };
}

/** A write is judged by what is there now; a mutation before it could change that, a pull request's base for one. */
function refuseWritesBesideOthers(asks: readonly RootAsk[]): void {
  const mutations = asks.filter(({ input }) => input !== null);
  const write = mutations.find(({ effect }) => effect === 'push');
  if (write === undefined || mutations.length === 1) return;
  throw notJudged(
    `the mutation ${write.name} writes a branch beside another mutation, which could change what it was judged by`,
    'Send it in a document of its own.',
  );
}

function refuseOtherForms({ method, query, contentType }: GraphqlQuestion): void {
  if (method !== 'POST')
    throw notJudged(`GraphQL by ${method} is not understood`, 'Send it as a POST with a JSON body.');
  if (query !== null && query !== '') throw notJudged('a GraphQL request has nothing after "?" in its address');
  // Without a type GitHub reads JSON; any other could make it read a form.
  if (contentType === null) return;
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json') throw notJudged(`the body is ${type.slice(0, 60)}, not application/json`);
}

function judgeOperation(
  operation: OperationDefinitionNode,
  { fragments, variables }: GraphqlRequest,
  { mode, effects, mutationEffect }: GraphqlQuestion,
): RootAsk[] {
  refuseDirectives(operation);
  for (const definition of operation.variableDefinitions ?? []) refuseDirectives(definition);
  if (operation.operation === 'subscription') throw notJudged('subscriptions are not understood');
  const isMutation = operation.operation === 'mutation';
  const values = new VariableValues(operation, variables);
  const walk = new SelectionWalk(loadGraphqlTypes(), fragments, effects, mode);
  const root = isMutation ? 'Mutation' : 'Query';
  return walk.rootFields(operation.selectionSet, root).map((field: FieldNode) => {
    const given = values.argumentsOf(field);
    const ask = isMutation
      ? judgeMutationRoot(field, given, mutationEffect, loadGraphqlInputs())
      : judgeQueryRoot(field, given);
    if (ask.effect !== null && !effects.has(ask.effect)) {
      throw effectNotAllowed(ask.effect, isMutation ? `the mutation ${ask.name}` : `the query ${ask.name}`, mode);
    }
    if (isMutation && ask.effect !== null && ask.ids.length + ask.repositories.length === 0) refuseUntied(ask);
    if (ask.start !== null) walk.selects(field, { ...ask.start, type: typeOfRoot(root, ask.name) });
    return ask;
  });
}

function typeOfRoot(root: 'Query' | 'Mutation', field: string): string {
  const edge = loadGraphqlTypes().get(root)?.edges.get(field);
  if (edge === undefined) throw notJudged(`what ${field} answers is not known to this gateway`);
  return edge.type;
}

function refuseUntied({ name, effect }: RootAsk): void {
  if (effect !== null && effectsWithoutRepository.has(effect)) return;
  throw notTied(`the mutation ${name} names nothing that belongs to a repository of this sandbox`);
}

async function tieNodes(ids: readonly string[], question: GraphqlQuestion): Promise<ReadonlyMap<string, NodeFacts>> {
  if (ids.length === 0) return new Map();
  if (ids.length > maxNodes) throw notTied(`one request may name at most ${maxNodes} nodes`);
  let found: ReadonlyMap<string, NodeFacts>;
  try {
    found = await question.nodes.look([...new Set(ids)]);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw notTied('GitHub could not be asked which repository a node belongs to', cause);
  }
  for (const id of ids) {
    const facts = found.get(id);
    // In the same words whether it is there or not: the sandbox is told nothing that it did not know.
    const notOurs = `the node ${id} is not one of a repository of this sandbox`;
    if (facts === undefined) throw notTied(notOurs, new Error('it could not be tied to any repository'));
    const claimed = readNodeId(id)?.repositoryNumber ?? null;
    // An id that names one repository and leads to a thing in another was made by hand.
    if (claimed !== null && facts.repositoryNumber !== null && claimed !== facts.repositoryNumber) {
      throw notTied(notOurs, new Error('it does not belong to the repository that it names'));
    }
    if (!question.covers(facts.repository)) {
      throw notTied(notOurs, new Error(`it belongs to ${facts.repository}`));
    }
  }
  return found;
}

async function judgeWrites(
  ask: RootAsk,
  nodes: ReadonlyMap<string, NodeFacts>,
  { refs, covers }: GraphqlQuestion,
): Promise<void> {
  if (ask.input === null) return;
  if (ask.name === 'createPullRequest') refuseForeignHead(ask, nodes, covers);
  if (ask.effect === 'pull') refuseOddPull(ask.input);
  const writes = readRefWrites(ask.name, ask.input, nodes);
  if (writes === null && ask.effect === 'push') {
    throw notJudged(`the mutation ${ask.name} writes a branch in a way that cannot be judged`, 'Push it by git.');
  }
  for (const write of writes ?? []) await refs.judge(write);
}

/** `owner:branch` takes the branch of a fork, and would show what is on it. */
function refuseForeignHead(
  { input, ids }: RootAsk,
  nodes: ReadonlyMap<string, NodeFacts>,
  covers: (repository: string) => boolean,
): void {
  const head = input?.headRefName;
  if (typeof head !== 'string') throw notJudged('createPullRequest needs headRefName as a string');
  const colon = head.indexOf(':');
  if (colon < 0) return;
  const owner = head.slice(0, colon).toLowerCase();
  const base = nodes.get(ids.find((id) => id === input?.repositoryId) ?? '')?.repository ?? '/';
  const fork = `${owner}/${base.slice(base.indexOf('/') + 1)}`;
  if (!covers(fork)) throw notOfSandbox(fork);
}

/** A name that was given away would lead to whatever repository has it now: only the repository of that very name. */
function withoutRenames(document: DocumentNode): DocumentNode {
  return visit(document, {
    Field: (field: FieldNode) =>
      field.name.value === 'repository' && isRootRepository(field) ? pinned(field) : undefined,
  });
}

function isRootRepository(field: FieldNode): boolean {
  const names = (field.arguments ?? []).map(({ name }) => name.value);
  return names.includes('owner') && names.includes('name');
}

function pinned(field: FieldNode): FieldNode {
  const kept = (field.arguments ?? []).filter(({ name }) => name.value !== 'followRenames');
  const pin = {
    kind: Kind.ARGUMENT,
    name: { kind: Kind.NAME, value: 'followRenames' },
    value: { kind: Kind.BOOLEAN, value: false },
  } as const;
  return { ...field, arguments: [...kept, pin] };
}
