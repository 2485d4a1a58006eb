// Which repository a node belongs to, as GitHub itself says: the question that is asked with the gateway's own credential,
// how its answer is read, and a memory of what was answered. Nothing in an answer is believed that is not in its place.
import { LRUCache } from 'lru-cache';
import { canonicalRepository } from '../../../../kit/text/repository-name.ts';

export interface NodeFacts {
  readonly type: string;
  /** Canonical `owner/name`. */
  readonly repository: string;
  readonly repositoryNumber: number | null;
  /** The whole name of a ref; null for everything else. */
  readonly ref: string | null;
  /** The branches of a pull request; null for everything else. `headRepository` null: it is gone. */
  readonly pull: { readonly headRepository: string | null; readonly head: string; readonly base: string } | null;
}

/** Port: what is not in the map could not be tied to any repository. */
export interface NodeResolver {
  look(ids: readonly string[]): Promise<ReadonlyMap<string, NodeFacts>>;
}

/** Sends one GraphQL body with the gateway's own credential and returns the JSON of the answer. */
export type AskGraphql = (body: Buffer) => Promise<unknown>;

const inRepository = 'nameWithOwner databaseId';
// Issues, pull requests, comments, reviews and discussions are nodes of a repository; the rest has to be named.
const homes = [
  'RepositoryNode',
  'Milestone',
  'Label',
  'Ref',
  'PullRequestReviewThread',
  'Release',
  'CheckSuite',
  'CheckRun',
]
  .concat(['Deployment', 'Commit'])
  .map((type) => `... on ${type} { home: repository { ${inRepository} } }`)
  .join(' ');

const question = `query Sallyport($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Repository { ${inRepository} } ${homes} ... on Ref { name prefix } ... on PullRequest { headRefName baseRefName headRepository { nameWithOwner } } } }`;

/** GitHub takes at most 100 ids. */
const maxIdsInQuestion = 100;

export function writeNodeQuestion(ids: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify({ query: question, variables: { ids } }));
}

/** Nodes come back in the order of the ids, null for those that are not there. */
export function readNodeAnswer(answer: unknown, ids: readonly string[]): Map<string, NodeFacts> {
  const nodes = objectIn(objectIn(answer)?.data)?.nodes;
  if (!Array.isArray(nodes) || nodes.length !== ids.length) {
    throw new Error('GitHub did not say which repositories the nodes belong to');
  }
  const facts = new Map<string, NodeFacts>();
  for (const [index, id] of ids.entries()) {
    const node = objectIn(nodes[index]);
    const read = node === null ? null : readNode(node);
    if (read !== null) facts.set(id, read);
  }
  return facts;
}

function readNode(node: Record<string, unknown>): NodeFacts | null {
  const type = node.__typename;
  const home = type === 'Repository' ? node : objectIn(node.home);
  const repository = repositoryIn(home);
  if (typeof type !== 'string' || home === null || repository === null) return null;
  const repositoryNumber = typeof home.databaseId === 'number' ? home.databaseId : null;
  const isRef = type === 'Ref' && typeof node.prefix === 'string' && typeof node.name === 'string';
  const { headRefName: head, baseRefName: base } = node;
  const isPull = type === 'PullRequest' && typeof head === 'string' && typeof base === 'string';
  return {
    type,
    repository,
    repositoryNumber,
    ref: isRef ? `${node.prefix}${node.name}` : null,
    pull: isPull ? { headRepository: repositoryIn(objectIn(node.headRepository)), head, base } : null,
  };
}

function repositoryIn(value: Record<string, unknown> | null): string | null {
  const parts = typeof value?.nameWithOwner === 'string' ? value.nameWithOwner.split('/') : [];
  return parts.length === 2 ? canonicalRepository(parts[0]!, parts[1]!) : null;
}

function objectIn(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Things are moved between repositories, and repositories renamed: after this long GitHub is asked again. */
const rememberedMs = 5 * 60_000;

export type NodeMemory = LRUCache<string, NodeFacts>;

/** One for each host and credential: what one credential may see another may not. */
export function newNodeMemory(): NodeMemory {
  return new LRUCache({ max: 10_000, ttl: rememberedMs });
}

/** Asks on behalf of one request; what it learns serves the next ones too. */
export class RememberedNodes implements NodeResolver {
  readonly #ask: AskGraphql;
  readonly #known: NodeMemory;

  constructor(ask: AskGraphql, memory: NodeMemory = newNodeMemory()) {
    this.#ask = ask;
    this.#known = memory;
  }

  async look(ids: readonly string[]): Promise<ReadonlyMap<string, NodeFacts>> {
    const facts = new Map<string, NodeFacts>();
    const open: string[] = [];
    for (const id of new Set(ids)) {
      const known = this.#known.get(id);
      if (known === undefined) open.push(id);
      else facts.set(id, known);
    }
    for (let at = 0; at < open.length; at += maxIdsInQuestion) {
      const asked = open.slice(at, at + maxIdsInQuestion);
      for (const [id, found] of readNodeAnswer(await this.#ask(writeNodeQuestion(asked)), asked)) {
        // Where a branch is and what a pull request is from can change at any time: not remembered.
        if (found.ref === null && found.pull === null) this.#known.set(id, found);
        facts.set(id, found);
      }
    }
    return facts;
  }
}
