// What a commit says of its place in history: its tree and its parents, in the order and the spelling git writes them.
// Never reads a parent that git would not: one header more or less turns a rewritten history into a fast-forward.
import { GitWireError } from '../git-wire-error.ts';
import { ID_BYTES, isLowerCaseId } from './object-id.ts';
import { OverBudget } from './work-budget.ts';

export interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

const TREE_LINE_BYTES = 'tree '.length + 41;
const PARENT_LINE_BYTES = 'parent '.length + 41;
/** The widest merges people make have some dozens of parents. */
const MAX_PUSHED_PARENTS = 64;
/** What a server has is history that was let in long ago: wider merges are known, and parents named twice. */
const MAX_SERVED_PARENTS = 1_000;
const LF = 0x0a;

/** Who brings a commit: a push is held to what git writes today. */
export type CommitOrigin = 'pushed' | 'served';

export function parseCommit(content: Buffer, origin: CommitOrigin = 'pushed'): Commit {
  const tree = idInLine(content, 0, 'tree ');
  const count = countParents(content, origin);
  const parents = new Set<string>();
  let at = TREE_LINE_BYTES;
  for (let n = 0; n < count; n++) {
    const parent = idInLine(content, at, 'parent ');
    if (parents.has(parent) && origin === 'pushed') {
      throw new GitWireError('malformed', 'a commit that names one parent twice');
    }
    parents.add(parent);
    at += PARENT_LINE_BYTES;
  }
  refuseLateHeaders(content, at);
  return { tree, parents: [...parents] };
}

/** How many lines of parents there are, so that they can be charged for before they are read. */
export function countParents(content: Buffer, origin: CommitOrigin): number {
  const most = origin === 'pushed' ? MAX_PUSHED_PARENTS : MAX_SERVED_PARENTS;
  let count = 0;
  for (let at = TREE_LINE_BYTES; startsWith(content, at, 'parent '); at += PARENT_LINE_BYTES) {
    if (++count > most) throw new OverBudget(`a commit with more than ${most} parents`);
  }
  return count;
}

/** The commits of a pack with their ids as bytes, one behind the other: as text they would take four times the memory. */
export class CommitIds {
  #slab = Buffer.alloc(0);

  keep({ tree, parents }: Commit): Commit {
    const bytes = ID_BYTES * (1 + parents.length);
    if (this.#slab.length < bytes) this.#slab = Buffer.allocUnsafeSlow(Math.max(bytes, SLAB_BYTES));
    const own = this.#slab.subarray(0, bytes);
    this.#slab = this.#slab.subarray(bytes);
    own.write(tree, 0, 'hex');
    for (const [n, parent] of parents.entries()) own.write(parent, ID_BYTES * (n + 1), 'hex');
    return new KeptCommit(own);
  }
}

const SLAB_BYTES = 64 * 1024;

class KeptCommit implements Commit {
  readonly #ids: Buffer;

  constructor(ids: Buffer) {
    this.#ids = ids;
  }

  get tree(): string {
    return this.#ids.toString('hex', 0, ID_BYTES);
  }

  get parents(): readonly string[] {
    const parents: string[] = [];
    for (let at = ID_BYTES; at < this.#ids.length; at += ID_BYTES) {
      parents.push(this.#ids.toString('hex', at, at + ID_BYTES));
    }
    return parents;
  }
}

/** Git stops looking for parents at the first other header; what follows must not look like one to anybody else. */
function refuseLateHeaders(content: Buffer, from: number): void {
  let at = from;
  while (at < content.length && content[at] !== LF) {
    if (startsWith(content, at, 'parent ') || startsWith(content, at, 'tree ')) {
      throw new GitWireError('malformed', 'a commit with a tree or a parent after its other headers');
    }
    const end = content.indexOf(LF, at);
    if (end === -1) return;
    at = end + 1;
  }
}

function idInLine(content: Buffer, at: number, key: string): string {
  const start = at + key.length;
  const id = content.toString('latin1', start, start + 40);
  if (!startsWith(content, at, key) || !isLowerCaseId(id) || content[start + 40] !== LF) {
    throw new GitWireError('malformed', `a commit whose "${key.trim()}" line is not the key and one object id`);
  }
  return id;
}

function startsWith(content: Buffer, at: number, text: string): boolean {
  return content.toString('latin1', at, at + text.length) === text;
}
