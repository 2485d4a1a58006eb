// What an annotated tag points at: a ref may name a tag, and the commits behind it are pushed all the same.
// Never follows the target: it may be another tag, or on the server only.
import { GitWireError } from '../git-wire-error.ts';
import type { ObjectType } from './object-id.ts';

export interface Tag {
  readonly target: string;
  readonly targetType: ObjectType;
}

const HEAD = /^object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\ntag [^\n]*\n/;
const MAX_HEAD_BYTES = 4096;

export function parseTag(content: Buffer): Tag {
  const head = HEAD.exec(content.toString('latin1', 0, MAX_HEAD_BYTES));
  if (head === null) {
    throw new GitWireError('malformed', 'a tag that does not begin with its object, its type and its name');
  }
  return { target: head[1] as string, targetType: head[2] as ObjectType };
}
