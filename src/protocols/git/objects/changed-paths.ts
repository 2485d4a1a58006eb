// Which protected paths the commits of a push change, each commit judged against its own parents. Reads only the
// trees that differ and that a pattern can reach into. Never judges by the tip alone: history runs workflows too.
import type { Commit } from './object-commit.ts';
import { EMPTY_TREE_ID } from './object-id.ts';
import { isDirectory, leadsElsewhere, type TreeEntries, type TreeEntry } from './object-tree.ts';
import { OverBudget, WorkBudget } from './work-budget.ts';

export interface ChangedPathsLimits {
  /** Trees read, counting each time one is needed. */
  readonly maxTrees: number;
  /** Entries compared, in all. */
  readonly maxEntries: number;
  /** One is enough to refuse; more are for the person who reads. */
  readonly maxFindings: number;
}

/** What comparing one name in one tree costs, and passing over one that was compared. */
const COMPARE_BYTES = 96;
const PASS_BYTES = 16;
/** What looking a commit up costs. */
const COMMIT_BYTES = 256;
/** What a directory that waits to be compared takes, without its name and its parents. */
const LEVEL_BYTES = 120;
const LEVEL_PARENT_BYTES = 64;
/** Longer ones cannot be checked out anywhere. */
const MAX_PATH_BYTES = 16 * 1024;

const defaultChangedPathsLimits: ChangedPathsLimits = { maxTrees: 500_000, maxEntries: 50_000_000, maxFindings: 100 };

export interface ChangedPathsInput {
  /** Every commit in the pack, also one that no ref reaches: stored unjudged, a later push could name it. */
  readonly commits: Iterable<string>;
  /** The pack first, else the server: parents outside the pack are asked for too. */
  readonly commit: (oid: string) => Commit | Promise<Commit>;
  readonly tree: (oid: string) => Promise<ReadTree>;
  readonly matches: (path: string) => boolean;
  /** Whether any path below this directory could match; '' is the top. */
  readonly couldMatchBelow: (directory: string) => boolean;
  readonly limits?: Partial<ChangedPathsLimits>;
  /** Shared by all that is done for one push. */
  readonly budget?: WorkBudget;
}

export interface ReadTree {
  readonly entries: TreeEntries;
  /** What they take in memory. */
  readonly bytes: number;
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
  readonly #budget: WorkBudget;
  #trees = 0;
  #entries = 0;

  constructor(input: ChangedPathsInput) {
    this.#input = input;
    this.#limits = { ...defaultChangedPathsLimits, ...input.limits };
    this.#budget = input.budget ?? new WorkBudget();
  }

  /** False when there are findings enough. */
  async judge(oid: string): Promise<boolean> {
    const { tree, parents } = await this.#input.commit(oid);
    this.#budget.spend(COMMIT_BYTES * (parents.length + 1));
    await this.#budget.turn();
    const parentTrees: (string | null)[] = [];
    for (const parent of parents) parentTrees.push((await this.#input.commit(parent)).tree);
    // A root commit is a change of everything in it: from the empty tree.
    if (parentTrees.length === 0) parentTrees.push(null);
    const open: Level[] = [{ path: '', own: tree, parents: parentTrees }];
    const budget = this.#budget.part();
    try {
      for (let level = open.pop(); level !== undefined; level = open.pop()) {
        if (level.path !== '') budget.release(bytesOf(level));
        if (!differs(level)) continue;
        const trees = budget.part();
        await this.#compare(oid, parents, level, trees, (below) => {
          budget.hold(bytesOf(below));
          open.push(below);
        });
        trees.close();
        if (this.findings.length >= this.#limits.maxFindings) return false;
      }
      return true;
    } finally {
      budget.close();
    }
  }

  /** Reports what differs on this level, and hands out the directories below that differ and could matter. */
  async #compare(
    commit: string,
    parentIds: readonly string[],
    level: Level,
    budget: WorkBudget,
    goDown: (below: Level) => void,
  ): Promise<void> {
    // Each tree once, however many of the parents have it.
    const trees = new Map<string | null, TreeEntries>();
    for (const id of [level.own, ...level.parents]) {
      if (trees.has(id)) continue;
      const { entries, bytes } = await this.#read(id);
      budget.hold(bytes);
      trees.set(id, entries);
    }
    const own = trees.get(level.own)!;
    const others = [...trees.values()].slice(1);
    const parents = level.parents.map((parent) => trees.get(parent)!);
    for (const rawName of namesIn(own, others)) {
      this.#budget.spend(rawName === null ? PASS_BYTES : COMPARE_BYTES * trees.size);
      if (this.#budget.isTurnDue) await this.#budget.turn();
      if (rawName === null) continue;
      this.#countEntry();
      const entry = own.get(rawName);
      if (others.every((other) => isSame(entry, other.get(rawName)))) continue;
      const before = parents.map((parent) => parent.get(rawName));
      const path = level.path === '' ? rawName : `${level.path}/${rawName}`;
      if (path.length > MAX_PATH_BYTES) throw new OverBudget(`a path of more than ${MAX_PATH_BYTES} bytes`);
      this.#budget.spend(path.length * 2 + COMPARE_BYTES * before.length);
      if (this.#isProtected(path, [entry, ...before])) this.#report(commit, parentIds, decodePath(path), entry, before);
      const below: Level = { path, own: directoryId(entry), parents: before.map(directoryId) };
      if (differs(below) && this.#input.couldMatchBelow(decodePath(path))) goDown(below);
    }
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

  async #read(oid: string | null): Promise<ReadTree> {
    if (oid === null || oid === EMPTY_TREE_ID) return { entries: new Map(), bytes: 0 };
    if (++this.#trees > this.#limits.maxTrees) {
      throw new OverBudget(`more than ${this.#limits.maxTrees} directories to compare; push in parts`);
    }
    await this.#budget.turn();
    return this.#input.tree(oid);
  }

  #countEntry(): void {
    if (++this.#entries > this.#limits.maxEntries) {
      throw new OverBudget(`more than ${this.#limits.maxEntries} entries to compare; push in parts`);
    }
  }
}

function differs(level: Level): boolean {
  return level.parents.some((parent) => parent !== level.own);
}

function bytesOf(level: Level): number {
  return LEVEL_BYTES + level.path.length + LEVEL_PARENT_BYTES * level.parents.length;
}

/** Each name once, and null for each time it comes again; the sets are small, because most names are in all of them. */
function* namesIn(own: TreeEntries, parents: readonly TreeEntries[]): Generator<string | null> {
  yield* own.keys();
  const gone = new Set<string>();
  for (const parent of parents) {
    for (const name of parent.keys()) {
      const isNew = !own.has(name) && !gone.has(name);
      if (isNew) gone.add(name);
      yield isNew ? name : null;
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
