// The commits and trees that a push is about: from its pack, else from the server, each asked for once and under an id
// that was computed from its content. Never asks for more than a push of a person needs, and never reads a tree that was not
// charged for first.
import { LRUCache } from 'lru-cache';
import { GitWireError } from '../../../protocols/git/git-wire-error.ts';
import { PARENT_BYTES, STEP_BYTES } from '../../../protocols/git/objects/ancestry.ts';
import type { ReadTree } from '../../../protocols/git/objects/changed-paths.ts';
import { type Commit, parseCommit } from '../../../protocols/git/objects/object-commit.ts';
import { EMPTY_TREE_ID } from '../../../protocols/git/objects/object-id.ts';
import { parseTree, treeBytes } from '../../../protocols/git/objects/object-tree.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { OverBudget, WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { GitServer } from './git-server.ts';

/** Trees of the server that one push may need, and how many of them one by one: more is not a push a person made. */
const maxServerTrees = 5_000;
const maxSingleTrees = 256;
/** Commits of the server that those of a push build on. */
const maxServerCommits = 20_000;
/** Trees that were read are kept for the next commit, which has most of them too. */
const maxKeptBytes = 16 * 1024 ** 2;
/** What an object takes besides its content. */
const objectBytes = 400;

export class PushObjects {
  readonly #pack: PackObjects;
  readonly #server: GitServer;
  readonly #budget: WorkBudget;
  readonly #commits = new Map<string, Commit>();
  /** Of the server, as they came. */
  readonly #contents = new Map<string, Buffer>();
  readonly #read: LRUCache<string, ReadTree>;
  #serverTrees = 0;
  #singleTrees = 0;

  constructor(pack: PackObjects, server: GitServer, budget = new WorkBudget()) {
    this.#pack = pack;
    this.#server = server;
    this.#budget = budget;
    this.#read = new LRUCache({
      maxSize: maxKeptBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: ({ bytes }) => budget.release(bytes),
    });
  }

  /** The parents of these that are on the server, and the top directories, in two questions instead of one for each. */
  async prefetch(commits: ReadonlyMap<string, Commit>): Promise<void> {
    const parents = new Set<string>();
    for (const [id, commit] of commits) {
      if (!this.#pack.commits.has(id) && !this.#commits.has(id)) this.#keepCommit(id, commit);
      const named = commit.parents;
      await this.#pass(named.length);
      for (const parent of named) {
        if (this.#known(parent) === undefined && !commits.has(parent)) parents.add(parent);
      }
      if (parents.size > maxServerCommits) throw tooMany('commits');
    }
    await this.#fetchCommits([...parents]);
    const tops = new Set<string>();
    for (const [id, commit] of commits) {
      this.#addTop(tops, this.#known(id)!.tree);
      const named = commit.parents;
      await this.#pass(named.length);
      for (const parent of named) this.#addTop(tops, this.#known(parent)!.tree);
    }
    await this.#fetchTrees([...tops]);
  }

  /** What one commit with this many parents costs. */
  async #pass(parents: number): Promise<void> {
    this.#budget.spend(STEP_BYTES + PARENT_BYTES * parents);
    if (this.#budget.isTurnDue) await this.#budget.turn();
  }

  async commit(oid: string): Promise<Commit> {
    if (this.#known(oid) === undefined) await this.#fetchCommits([oid]);
    return this.#known(oid)!;
  }

  #known(oid: string): Commit | undefined {
    return this.#pack.commits.get(oid) ?? this.#commits.get(oid);
  }

  /** Charges also for what was read before: the caller will go through all of it again. */
  async tree(oid: string): Promise<ReadTree> {
    const kept = this.#read.get(oid);
    if (kept !== undefined) {
      this.#budget.spend(kept.entries.size * 8);
      return kept;
    }
    const content = await this.#treeContent(oid);
    const bytes = treeBytes(content) + objectBytes;
    // Held for the time it is made, so that there is room for it before.
    const budget = this.#budget.part();
    budget.hold(bytes);
    try {
      const tree = { entries: await parseTree(content, this.#budget), bytes };
      if (bytes <= maxKeptBytes) {
        this.#budget.hold(bytes);
        this.#read.set(oid, tree);
      }
      return tree;
    } finally {
      budget.close();
    }
  }

  async #treeContent(oid: string): Promise<Buffer> {
    const packed = this.#pack.get(oid);
    if (packed !== null) return asTree(packed.type, await packed.content());
    if (!this.#contents.has(oid)) {
      if (++this.#singleTrees > maxSingleTrees) throw tooMany('directories');
      await this.#fetchTrees([oid]);
    }
    return this.#contents.get(oid)!;
  }

  #addTop(tops: Set<string>, tree: string): void {
    if (tree === EMPTY_TREE_ID || this.#contents.has(tree) || this.#pack.get(tree) !== null) return;
    tops.add(tree);
    if (tops.size > maxServerTrees) throw tooMany('directories');
  }

  #keepCommit(id: string, commit: Commit): void {
    this.#budget.hold(objectBytes);
    this.#commits.set(id, commit);
  }

  async #fetchCommits(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    for (const [id, { type, content }] of await this.#server.objects(ids)) {
      if (type !== 'commit') throw new GitWireError('malformed', 'a commit of the push has a parent that is no commit');
      this.#keepCommit(id, parseCommit(content, 'served'));
    }
  }

  async #fetchTrees(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    this.#serverTrees += ids.length;
    if (this.#serverTrees > maxServerTrees) throw tooMany('directories');
    for (const [id, { type, content }] of await this.#server.objects(ids)) {
      this.#budget.hold(content.length + objectBytes);
      this.#contents.set(id, asTree(type, content));
    }
  }
}

function tooMany(what: string): OverBudget {
  return new OverBudget(`the server would have to be asked for too many ${what}; push in parts`);
}

function asTree(type: string, content: Buffer): Buffer {
  if (type !== 'tree') throw new GitWireError('malformed', 'a directory of the push that is no directory');
  return content;
}
