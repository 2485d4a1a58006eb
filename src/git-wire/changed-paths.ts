// Which protected paths the commits of a push change, each commit judged against its own parents. Reads only the
// trees that differ and that a pattern can reach into. Never judges by the tip alone: history runs workflows too.
import { setImmediate } from 'node:timers/promises';
import { GitWireError } from './git-wire-error.ts';
import type { Commit } from './object-commit.ts';
import { EMPTY_TREE_ID } from './object-id.ts';
import { isDirectory, leadsElsewhere, type TreeEntries, type TreeEntry } from './object-tree.ts';

export interface ChangedPathsLimits {
  /** Trees read, counting each time one is needed. */
  readonly maxTrees: number;
  /** Entries compared, in all. */
  readonly maxEntries: number;
  /** One is enough to refuse; more are for the person who reads. */
  readonly maxFindings: number;
}

const TURN_TREES = 64;

const defaultChangedPathsLimits: ChangedPathsLimits = { maxTrees: 500_000, maxEntries: 50_000_000, maxFindings: 100 };

export interface ChangedPathsInput {
  /** Every commit in the pack, also one that no ref reaches: stored unjudged, a later push could name it. */
  readonly commits: Iterable<string>;
  /** The pack first, else the server: parents outside the pack are asked for too. */
  readonly commit: (oid: string) => Commit | Promise<Commit>;
  readonly tree: (oid: string) => Promise<TreeEntries>;
  readonly matches: (path: string) => boolean;
  /** Whether any path below this directory could match; '' is the top. */
  readonly couldMatchBelow: (directory: string) => boolean;
  readonly limits?: Partial<ChangedPathsLimits>;
}

/**
 * `introduced`: the path is as in none of the parents (also gone, or another mode), so this commit made the change.
 * `taken`: a merge in which it is as in the parent `from` and unlike another: content that was on the server or is
 * judged with the commit that introduced it, though perhaps new to this branch.
 */
export type ChangedPath =
  | { readonly kind: 'introduced'; readonly commit: string; readonly path: string }
  | { readonly kind: 'taken'; readonly commit: string; readonly path: string; readonly from: string };

export async function changedProtectedPaths(input: ChangedPathsInput): Promise<ChangedPath[]> {
  const search = new ChangeSearch(input);
  for (const oid of input.commits) {
    if (!(await search.judge(oid))) break;
  }
  return search.findings;
}

/** The same directory (or the lack of it: null) in a commit and in each of its parents. */
interface Level {
  readonly path: string;
  readonly own: string | null;
  readonly parents: readonly (string | null)[];
}

class ChangeSearch {
  readonly findings: ChangedPath[] = [];
  readonly #input: ChangedPathsInput;
  readonly #limits: ChangedPathsLimits;
  #trees = 0;
  #entries = 0;

  constructor(input: ChangedPathsInput) {
    this.#input = input;
    this.#limits = { ...defaultChangedPathsLimits, ...input.limits };
  }

  /** False when there are findings enough. */
  async judge(oid: string): Promise<boolean> {
    const { tree, parents } = await this.#input.commit(oid);
    const parentTrees: (string | null)[] = [];
    for (const parent of parents) parentTrees.push((await this.#input.commit(parent)).tree);
    // A root commit is a change of everything in it: from the empty tree.
    if (parentTrees.length === 0) parentTrees.push(null);
    const open: Level[] = [{ path: '', own: tree, parents: parentTrees }];
    for (let level = open.pop(); level !== undefined; level = open.pop()) {
      if (level.parents.every((parent) => parent === level.own)) continue;
      if (!this.#input.couldMatchBelow(decodePath(level.path))) continue;
      open.push(...(await this.#compare(oid, parents, level)));
      if (this.findings.length >= this.#limits.maxFindings) return false;
    }
    return true;
  }

  /** Reports what differs on this level; returns the directories below that differ. */
  async #compare(commit: string, parentIds: readonly string[], level: Level): Promise<Level[]> {
    const own = await this.#read(level.own);
    const parents: TreeEntries[] = [];
    for (const parent of level.parents) parents.push(parent === level.own ? own : await this.#read(parent));
    const below: Level[] = [];
    for (const rawName of namesIn(own, parents)) {
      this.#countEntry();
      const entry = own.get(rawName);
      const before = parents.map((parent) => parent.get(rawName));
      if (before.every((other) => isSame(entry, other))) continue;
      const path = level.path === '' ? rawName : `${level.path}/${rawName}`;
      if (this.#isProtected(path, [entry, ...before])) this.#report(commit, parentIds, decodePath(path), entry, before);
      below.push({ path, own: directoryId(entry), parents: before.map(directoryId) });
    }
    return below;
  }

  #isProtected(path: string, entries: readonly (TreeEntry | undefined)[]): boolean {
    const text = decodePath(path);
    const files = entries.filter((entry) => entry !== undefined && !isDirectory(entry));
    if (files.length === 0) return false;
    // A link in the place of a directory that holds protected paths puts other files there under their names.
    const isLink = files.some((entry) => entry !== undefined && leadsElsewhere(entry));
    return this.#input.matches(text) || (isLink && this.#input.couldMatchBelow(text));
  }

  #report(
    commit: string,
    parentIds: readonly string[],
    path: string,
    entry: TreeEntry | undefined,
    before: readonly (TreeEntry | undefined)[],
  ): void {
    if (this.findings.length >= this.#limits.maxFindings) return;
    const same = before.findIndex((other) => isSame(asFile(entry), asFile(other)));
    const from = parentIds[same];
    if (from === undefined) this.findings.push({ kind: 'introduced', commit, path });
    else if (!before.every((other) => isSame(asFile(entry), asFile(other)))) {
      this.findings.push({ kind: 'taken', commit, path, from });
    }
  }

  async #read(oid: string | null): Promise<TreeEntries> {
    if (oid === null || oid === EMPTY_TREE_ID) return new Map();
    if (++this.#trees > this.#limits.maxTrees) {
      throw new GitWireError('too-large', `more than ${this.#limits.maxTrees} directories to compare; push in parts`);
    }
    // Trees of the pack come without any waiting: others must get their turn all the same.
    if (this.#trees % TURN_TREES === 0) await setImmediate();
    return this.#input.tree(oid);
  }

  #countEntry(): void {
    if (++this.#entries > this.#limits.maxEntries) {
      throw new GitWireError('too-large', `more than ${this.#limits.maxEntries} entries to compare; push in parts`);
    }
  }
}

/** Each name once; the sets are small, because most names are in all of them. */
function* namesIn(own: TreeEntries, parents: readonly TreeEntries[]): Generator<string> {
  yield* own.keys();
  const gone = new Set<string>();
  for (const parent of parents) {
    for (const name of parent.keys()) {
      if (own.has(name) || gone.has(name)) continue;
      gone.add(name);
      yield name;
    }
  }
}

function isSame(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  return one?.oid === other?.oid && one?.mode === other?.mode;
}

/** A directory in the place of a file is the file gone; what is in the directory is looked at on its own. */
function asFile(entry: TreeEntry | undefined): TreeEntry | undefined {
  return entry !== undefined && isDirectory(entry) ? undefined : entry;
}

function directoryId(entry: TreeEntry | undefined): string | null {
  return entry !== undefined && isDirectory(entry) ? entry.oid : null;
}

/** Patterns are text. Bytes that are not UTF-8 become U+FFFD, which no protected name is turned into or out of. */
function decodePath(raw: string): string {
  return Buffer.from(raw, 'latin1').toString('utf8');
}
