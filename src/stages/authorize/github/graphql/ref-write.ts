// The mutations that write branches, as the rules of a push see them: which branch, from where, to where, which files.
// Whoever holds those rules judges them behind the port. A mutation that writes a branch and is not here is refused.
import { branchDoubt, pathDoubt, refDoubt } from '../plain-names.ts';
import type { NodeFacts } from './node-facts.ts';
import { notJudged } from './refuse-graphql.ts';

export type GraphqlRefWrite =
  /** `newOid` null: deleted. `isNew` false: the ref is where the server has it now. */
  | {
      readonly kind: 'move';
      readonly repository: string;
      readonly ref: string;
      readonly newOid: string | null;
      readonly isNew: boolean;
      readonly force: boolean;
    }
  /** A commit of GitHub's making on top of a branch. */
  | { readonly kind: 'files'; readonly repository: string; readonly branch: string; readonly paths: readonly string[] }
  /** `to` takes over what `from` has. */
  | { readonly kind: 'takeover'; readonly repository: string; readonly to: string; readonly from: string };

export interface RefRules {
  /** Throws the refusal for a write that breaks a rule. */
  judge(write: GraphqlRefWrite): Promise<void>;
}

type Input = Readonly<Record<string, unknown>>;
type Nodes = ReadonlyMap<string, NodeFacts>;
type ReadWrites = (input: Input, nodes: Nodes) => GraphqlRefWrite[];

const zeroOid = '0'.repeat(40);

const writers: ReadonlyMap<string, ReadWrites> = new Map<string, ReadWrites>([
  ['createCommitOnBranch', readCommit],
  ['createRef', (input, nodes) => [moveOf(repositoryOf(input, nodes), input.name, input.oid, true, false)]],
  ['createLinkedBranch', readLinkedBranch],
  ['updateRef', readUpdatedRef],
  ['deleteRef', readDeletedRef],
  ['updateRefs', readUpdatedRefs],
  ['mergeBranch', readMerge],
  ['updatePullRequestBranch', readUpdatedPull],
]);

/** What the mutation would write; null: nobody knows how to read it. */
export function readRefWrites(mutation: string, input: Input, nodes: Nodes): GraphqlRefWrite[] | null {
  return writers.get(mutation)?.(input, nodes) ?? null;
}

function readCommit(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const branch = recordOf(input.branch, 'branch');
  const changes = recordOf(input.fileChanges ?? {}, 'fileChanges');
  const files = [...listOf(changes.additions, 'additions'), ...listOf(changes.deletions, 'deletions')];
  const paths = files.map((file) => plain(recordOf(file, 'a file').path, pathDoubt));
  if (branch.id !== undefined && branch.id !== null) {
    if (branch.repositoryNameWithOwner !== undefined || branch.branchName !== undefined) {
      throw unreadable('name the branch by id or by name, not by both');
    }
    const { repository, ref } = refOf(branch.id, nodes);
    return [{ kind: 'files', repository, branch: shortOf(ref), paths }];
  }
  const repository = textOf(branch.repositoryNameWithOwner, 'repositoryNameWithOwner').toLowerCase();
  return [{ kind: 'files', repository, branch: plain(branch.branchName, branchDoubt), paths }];
}

function readLinkedBranch(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const { repositoryId, issueId } = input;
  const home = repositoryId === undefined || repositoryId === null ? issueId : repositoryId;
  const ref = `refs/heads/${plain(textOf(input.name, 'name'), branchDoubt)}`;
  return [moveOf(nodeOf(home, nodes).repository, ref, input.oid, true, false)];
}

function readUpdatedRef(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const { repository, ref } = refOf(input.refId, nodes);
  return [moveOf(repository, ref, input.oid, false, input.force)];
}

function readDeletedRef(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const { repository, ref } = refOf(input.refId, nodes);
  return [{ kind: 'move', repository, ref, newOid: null, isNew: false, force: false }];
}

function readUpdatedRefs(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const repository = repositoryOf(input, nodes);
  const updates = listOf(input.refUpdates, 'refUpdates');
  if (updates.length === 0) throw unreadable('refUpdates is empty');
  return updates.map((item) => {
    const { name, afterOid, beforeOid, force } = recordOf(item, 'a ref update');
    return moveOf(repository, name, afterOid, beforeOid === zeroOid, force);
  });
}

function readMerge(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const to = plain(input.base, branchDoubt);
  const from = plain(input.head, branchDoubt);
  return [{ kind: 'takeover', repository: repositoryOf(input, nodes), to, from }];
}

function readUpdatedPull(input: Input, nodes: Nodes): GraphqlRefWrite[] {
  const { pull, repository } = nodeOf(input.pullRequestId, nodes);
  if (pull === null || pull.headRepository !== repository) throw unreadable('its branch is in another repository');
  // A rebase rewrites the branch.
  if (input.updateMethod !== undefined && input.updateMethod !== null && input.updateMethod !== 'MERGE') {
    throw unreadable('only updateMethod MERGE keeps what is on the branch');
  }
  return [{ kind: 'takeover', repository, to: pull.head, from: pull.base }];
}

function moveOf(repository: string, name: unknown, oid: unknown, isNew: boolean, force: unknown): GraphqlRefWrite {
  const ref = plain(name, refDoubt);
  const newOid = textOf(oid, 'oid');
  if (!/^[0-9a-f]{40}$/.test(newOid)) throw unreadable('an oid is 40 hexadecimal digits in lower case');
  if (force !== undefined && force !== null && typeof force !== 'boolean') throw unreadable('force is true or false');
  const isDeleted = newOid === zeroOid;
  return { kind: 'move', repository, ref, newOid: isDeleted ? null : newOid, isNew, force: force === true };
}

function repositoryOf(input: Input, nodes: Nodes): string {
  return nodeOf(input.repositoryId, nodes).repository;
}

function refOf(id: unknown, nodes: Nodes): { repository: string; ref: string } {
  const { repository, ref } = nodeOf(id, nodes);
  if (ref === null) throw unreadable('the id is not that of a branch or tag');
  return { repository, ref };
}

function nodeOf(id: unknown, nodes: Nodes): NodeFacts {
  const facts = typeof id === 'string' ? nodes.get(id) : undefined;
  if (facts === undefined) throw unreadable('an id is missing');
  return facts;
}

/** Of a ref as GitHub tells it. */
function shortOf(ref: string): string {
  if (!ref.startsWith('refs/heads/')) throw unreadable(`${ref} is not a branch`);
  return ref.slice('refs/heads/'.length);
}

/** A name that has one reading. */
function plain(value: unknown, doubtOf: (value: unknown) => string | null): string {
  const doubt = doubtOf(value);
  if (doubt !== null) throw unreadable(doubt);
  return value as string;
}

/** The branches that a pull request is opened between, or moved to. `head` may be OWNER:BRANCH. */
export function refuseOddPull({ baseRefName, headRefName }: Input): void {
  if (baseRefName !== undefined && baseRefName !== null) plain(baseRefName, branchDoubt);
  if (typeof headRefName === 'string') plain(headRefName.replace(/^[^:]*:/, ''), branchDoubt);
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw unreadable(`${what} is missing or not a string`);
}

function recordOf(value: unknown, what: string): Input {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Input;
  throw unreadable(`${what} is missing or not an object`);
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw unreadable(`${what} is not a list`);
}

function unreadable(what: string): Error {
  return notJudged(
    `what this mutation would write cannot be read from it: ${what}`,
    'Say exactly which branch is to be written, or push it by git.',
  );
}
