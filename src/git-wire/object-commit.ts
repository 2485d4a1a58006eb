// What a commit says of its place in history: its tree and its parents, in the order and the spelling git writes them.
// Never reads a parent that git would not: one header more or less turns a rewritten history into a fast-forward.
import { GitWireError } from './git-wire-error.ts';
import { isLowerCaseId } from './object-id.ts';

export interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

const TREE_LINE_BYTES = 'tree '.length + 41;
const PARENT_LINE_BYTES = 'parent '.length + 41;
/** The widest merges people have made have some dozens of parents. */
const MAX_PARENTS = 1_000;
const LF = 0x0a;

export function parseCommit(content: Buffer): Commit {
  const tree = idInLine(content, 0, 'tree ');
  const parents: string[] = [];
  let at = TREE_LINE_BYTES;
  while (startsWith(content, at, 'parent ')) {
    if (parents.length === MAX_PARENTS) {
      throw new GitWireError('too-large', `a commit with more than ${MAX_PARENTS} parents`);
    }
    parents.push(idInLine(content, at, 'parent '));
    at += PARENT_LINE_BYTES;
  }
  refuseLateHeaders(content, at);
  return { tree, parents };
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
