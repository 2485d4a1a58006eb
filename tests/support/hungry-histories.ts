// Packs whose objects are few and small, and whose history or making is long to walk: what costs time without memory.
import { oidOf } from '../../src/protocols/git/objects/object-id.ts';
import { commitText, type Part, packOf, sizeBytes, treeText } from '../unit/protocols/git/objects/pack-builder.ts';
import { type HungryPack, oneMoreEntry, wideTree } from './hungry-packs.ts';

const parentLineBytes = 'parent \n'.length + 40;
const treeLineBytes = 'tree \n'.length + 40;
/** A chain of deltas is no deeper than git's own. */
const chainLength = 1_000;

/** A copy of `size` bytes (under 64 KiB) from `offset` (under 64 KiB). */
function copyOf(offset: number, size: number): Buffer {
  return Buffer.from([0xb3, offset & 0xff, offset >> 8, size & 0xff, size >> 8]);
}

/**
 * Commits each of which has the `width` before it as parents, `treeOf` it as its tree: with each a hundred bytes on the wire,
 * there are millions of ways from the last to the first. `trees` go along.
 */
export function latticeOfCommits(
  count: number,
  width: number,
  treeOf: (n: number) => string = () => oidOf('tree', Buffer.alloc(0)),
  trees: readonly Buffer[] = [],
  root: readonly string[] = [],
): HungryPack & { readonly ids: readonly string[] } {
  const parts: Part[] = trees.map((content) => ({ code: 2, content }));
  const ids: string[] = [];
  let before: Buffer = Buffer.alloc(0);
  for (let n = 0; n < count; n++) {
    const parents = n === 0 ? root : ids.slice(Math.max(0, n - width), n);
    const content = commitText(treeOf(n), parents, String(n));
    ids.push(oidOf('commit', content));
    const isShifted = n > width && n % chainLength !== 0;
    if (isShifted) {
      const kept = parentLineBytes * (width - 1);
      const changed = content.subarray(treeLineBytes + kept);
      const pieces = [sizeBytes(before.length), sizeBytes(content.length)];
      pieces.push(Buffer.from([treeLineBytes]), content.subarray(0, treeLineBytes));
      pieces.push(copyOf(treeLineBytes + parentLineBytes, kept));
      for (let at = 0; at < changed.length; at += 127) {
        const piece = changed.subarray(at, at + 127);
        pieces.push(Buffer.from([piece.length]), piece);
      }
      parts.push({ code: 6, base: parts.length - 1, content: Buffer.concat(pieces) });
    } else parts.push({ code: 1, content });
    before = content;
  }
  return { tip: ids.at(-1)!, pack: packOf(parts), ids };
}

/** The same of merges that all take one protected file from one parent and leave what another has, on top of `root`. */
export function latticeOfMerges(count: number, width: number, root: readonly string[]): HungryPack {
  const file = (id: string): Buffer => treeText([['100644', 'CODEOWNERS', id]]);
  const trees = ['1', '2'].map((digit) => file(digit.repeat(40)));
  const ids = trees.map((content) => oidOf('tree', content));
  return latticeOfCommits(count, width, (n) => ids[n % 2]!, trees, root);
}

/** Trees that are made byte by byte: copies of one byte each, a thousand times smaller on the wire. */
export function deltasOfSingleBytes(count: number, bytes: number): HungryPack {
  const base = wideTree(1);
  const parts: Part[] = [{ code: 2, content: base }];
  for (let n = 0; n < count; n++) {
    const one = Buffer.from([0x91, 0, 1]);
    // No two the same object.
    const name = Buffer.from(String(n));
    const pieces = [sizeBytes(base.length), sizeBytes(bytes + name.length), Buffer.alloc(bytes * one.length, one)];
    pieces.push(Buffer.from([name.length]), name);
    parts.push({ code: 6, base: 0, content: Buffer.concat(pieces) });
  }
  const root = commitText(oidOf('tree', base), []);
  parts.push({ code: 1, content: root });
  return { tip: oidOf('commit', root), pack: packOf(parts) };
}

/** One directory as large as an object may be that is looked into. */
export function widestDirectory(): HungryPack {
  const content = wideTree(900_000);
  const root = commitText(oidOf('tree', content), []);
  return {
    tip: oidOf('commit', root),
    pack: packOf([
      { code: 2, content },
      { code: 1, content: root },
    ]),
  };
}

/** A directory whose entries have names as long as can be, in so many commits, each with one more. */
export function longNames(commits: number, entries: number, nameBytes: number): HungryPack {
  const name = (n: number): string => String(n).padStart(nameBytes, 'n');
  const id = '1'.repeat(40);
  let content = treeText(Array.from({ length: entries }, (_, n) => ['100644', name(n), id]));
  const parts: Part[] = [{ code: 2, content }];
  const texts = [commitText(oidOf('tree', content), [])];
  for (let n = 0; n < commits; n++) {
    const { delta, result } = oneMoreEntry(content, `z${n}`);
    parts.push({ code: 6, base: n, content: delta });
    content = result;
    texts.push(commitText(oidOf('tree', content), [oidOf('commit', texts.at(-1)!)]));
  }
  for (const text of texts) parts.push({ code: 1, content: text });
  return { tip: oidOf('commit', texts.at(-1)!), pack: packOf(parts) };
}

/** Directories in directories, so deep, which each of so many commits moves as a whole. */
export function deepDirectoryMoved(depth: number, commits: number): HungryPack {
  let content = wideTree(1);
  const parts: Part[] = [{ code: 2, content }];
  for (let n = 0; n < depth; n++) {
    content = wideTree(1, '40000', oidOf('tree', content));
    parts.push({ code: 2, content });
  }
  const deep = oidOf('tree', content);
  let last = '';
  for (let n = 0; n < commits; n++) {
    const top = treeText([['40000', `d${n}`, deep]]);
    const text = commitText(oidOf('tree', top), last === '' ? [] : [last]);
    parts.push({ code: 2, content: top }, { code: 1, content: text });
    last = oidOf('commit', text);
  }
  return { tip: last, pack: packOf(parts) };
}
