// The name of a git object: SHA-1 over its type, its length and its content. Every id that a verdict rests on is
// computed here from bytes we hold; an id that somebody merely claims is never believed.
import { createHash } from 'node:crypto';

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag';

export const ID_BYTES = 20;

/** The tree without entries: every repository has it, stored or not. */
export const EMPTY_TREE_ID = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

export function oidOf(type: ObjectType, content: Buffer): string {
  return digestOf(type, content).toString('hex');
}

/** The same id as 20 raw bytes, as packs and trees hold it. */
export function digestOf(type: ObjectType, content: Buffer): Buffer {
  return startDigest(type, content.length).update(content).digest();
}

/** For an object too large to hold: the caller goes on with update() for as many bytes as it announced. */
export function startDigest(type: ObjectType, size: number) {
  return createHash('sha1').update(`${type} ${size}\0`, 'latin1');
}

const OBJECT_ID = /^[0-9a-f]{40}$/;

/** In lower case only, as git writes it: with two spellings of one id, a lookup could miss what is there. */
export function isLowerCaseId(text: string): boolean {
  return OBJECT_ID.test(text);
}
