// Packs that are small on the wire and made to cost the one who judges them as much memory and time as can be had.
import { oidOf } from '../../src/protocols/git/objects/object-id.ts';
import {
  appendDelta,
  commitText,
  literalDelta,
  type Part,
  packOf,
  sizeBytes,
} from '../unit/protocols/git/objects/pack-builder.ts';

export interface HungryPack {
  /** The commit that the push would put on a branch. */
  readonly tip: string;
  readonly pack: Buffer;
}

const blob = oidOf('blob', Buffer.from('x'));
const commit = (content: Buffer): Part => ({ code: 1, content });
const tree = (content: Buffer): Part => ({ code: 2, content });

/** A directory of so many entries, in git's order. `seed` makes another one of the same names. */
export function wideTree(entries: number, mode = '100644', seed = blob): Buffer {
  const id = Buffer.from(seed, 'hex');
  const pieces: Buffer[] = [];
  for (let n = 0; n < entries; n++) pieces.push(Buffer.from(`${mode} f${String(n).padStart(7, '0')}\0`), id);
  return Buffer.concat(pieces);
}

/** The base as it is, and one more entry behind it: copies of at most 64 KiB each. */
export function oneMoreEntry(base: Buffer, name: string): { delta: Buffer; result: Buffer } {
  const added = Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]);
  if (base.length < 65_536) return { delta: appendDelta(base.length, added), result: Buffer.concat([base, added]) };
  const pieces = [sizeBytes(base.length), sizeBytes(base.length + added.length)];
  for (let at = 0; at < base.length; at += 65_536) {
    const size = Math.min(65_536, base.length - at);
    const offset = [at & 0xff, (at >> 8) & 0xff, (at >> 16) & 0xff, (at >> 24) & 0xff];
    // A size of zero bytes means 64 KiB.
    pieces.push(Buffer.from(size === 65_536 ? [0x8f, ...offset] : [0xbf, ...offset, size & 0xff, size >> 8]));
  }
  pieces.push(Buffer.from([added.length]), added);
  return { delta: Buffer.concat(pieces), result: Buffer.concat([base, added]) };
}

/** Four objects: a wide directory, a delta of it, a root commit, and a merge that names `parents` times a parent. */
export function mergeOfOneParent(entries: number, parents: number): HungryPack {
  const base = wideTree(entries);
  const { delta, result } = oneMoreEntry(base, 'zz');
  const root = commitText(oidOf('tree', base), []);
  const merge = commitText(oidOf('tree', result), new Array<string>(parents).fill(oidOf('commit', root)));
  const pack = packOf([tree(base), { code: 6, base: 0, content: delta }, commit(merge), commit(root)]);
  return { tip: oidOf('commit', merge), pack };
}

/** A merge of so many root commits, each with a wide directory of its own, and all of them deltas of one. */
export function mergeOfWideDirectories(entries: number, parents: number): HungryPack {
  const base = wideTree(entries);
  const parts: Part[] = [tree(base)];
  const roots: Buffer[] = [];
  for (let n = 0; n < parents; n++) {
    const { delta, result } = oneMoreEntry(base, `zz${n}`);
    parts.push({ code: 6, base: 0, content: delta });
    roots.push(commitText(oidOf('tree', result), [], `root ${n}`));
  }
  const ids = roots.map((content) => oidOf('commit', content));
  const merge = commitText(oidOf('tree', base), ids);
  return { tip: oidOf('commit', merge), pack: packOf([...parts, commit(merge), ...roots.map(commit)]) };
}

/** So many commits with so many parents that are nowhere, no two the same: deltas, so that each is a few bytes. */
export function commitsOfManyParents(commits: number, parents: number): HungryPack {
  const parts: Part[] = [];
  let last = '';
  for (let n = 0; n < commits; n++) {
    const ids = Array.from({ length: parents }, (_, k) => (n * parents + k).toString(16).padStart(40, 'a'));
    const content = commitText(oidOf('tree', Buffer.alloc(0)), ids, `${n}`);
    parts.push(commit(content));
    last = oidOf('commit', content);
  }
  return { tip: last, pack: packOf(parts) };
}

/** A root commit whose folder holds so many directories, all of them new. */
export function folderOfDirectories(entries: number): HungryPack {
  const inside = wideTree(1);
  const folder = wideTree(entries, '40000', oidOf('tree', inside));
  const root = commitText(oidOf('tree', folder), []);
  return { tip: oidOf('commit', root), pack: packOf([tree(inside), tree(folder), commit(root)]) };
}

/** Directories in directories, each the same one so many times: paths without end, in a handful of objects. */
export function sameDirectoryAgain(width: number, depth: number): HungryPack {
  const parts: Part[] = [];
  let content = wideTree(1);
  parts.push(tree(content));
  for (let n = 0; n < depth; n++) {
    content = wideTree(width, '40000', oidOf('tree', content));
    parts.push(tree(content));
  }
  const root = commitText(oidOf('tree', content), []);
  return { tip: oidOf('commit', root), pack: packOf([...parts, commit(root)]) };
}

/** One directory in another, so deep that each path is as long as all before it together. */
export function deepDirectory(depth: number): HungryPack {
  const parts: Part[] = [];
  let content = wideTree(1);
  parts.push(tree(content));
  for (let n = 0; n < depth; n++) {
    content = wideTree(1, '40000', oidOf('tree', content));
    parts.push(tree(content));
  }
  const root = commitText(oidOf('tree', content), []);
  return { tip: oidOf('commit', root), pack: packOf([...parts, commit(root)]) };
}

/** A wide directory that each of so many commits changes, each as a delta of the one before. */
export function chainOfWideDirectories(entries: number, commits: number): HungryPack {
  let content = wideTree(entries);
  const parts: Part[] = [tree(content)];
  const texts: Buffer[] = [commitText(oidOf('tree', content), [])];
  for (let n = 0; n < commits; n++) {
    const { delta, result } = oneMoreEntry(content, `zz${String(n).padStart(6, '0')}`);
    parts.push({ code: 6, base: n, content: delta });
    content = result;
    texts.push(commitText(oidOf('tree', content), [oidOf('commit', texts.at(-1)!)]));
  }
  return { tip: oidOf('commit', texts.at(-1)!), pack: packOf([...parts, ...texts.map(commit)]) };
}

/** Deltas that name their base by an id that nobody has. */
export function deltasOnNothing(count: number): HungryPack {
  const parts: Part[] = Array.from({ length: count }, (_, n) => ({
    code: 7,
    base: n.toString(16).padStart(40, 'b'),
    content: literalDelta(10, Buffer.from(`${n}`)),
  }));
  const root = commitText(oidOf('tree', Buffer.alloc(0)), []);
  return { tip: oidOf('commit', root), pack: packOf([commit(root), ...parts]) };
}
