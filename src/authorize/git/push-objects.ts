// The commits and trees that a push is about: from its pack, else from the server, each asked for once and under an id
// that was computed from its content. Never asks for more than a push of a person needs.
import { GitWireError } from '../../git-wire/git-wire-error.ts';
import { type Commit, parseCommit } from '../../git-wire/object-commit.ts';
import { EMPTY_TREE_ID } from '../../git-wire/object-id.ts';
import { parseTree, type TreeEntries } from '../../git-wire/object-tree.ts';
import type { PackObjects } from '../../git-wire/pack-objects.ts';
import type { GitServer } from './git-server.ts';

/** Trees of the server that one push may need, and how many of them one by one: more is not a push a person made. */
const maxServerTrees = 5_000;
const maxSingleTrees = 256;

export class PushObjects {
  readonly #pack: PackObjects;
  readonly #server: GitServer;
  readonly #commits = new Map<string, Commit>();
  readonly #trees = new Map<string, TreeEntries>();
  #serverTrees = 0;
  #singleTrees = 0;

  constructor(pack: PackObjects, server: GitServer) {
    this.#pack = pack;
    this.#server = server;
  }

  /** The parents of these that are on the server, and the top directories, in two questions instead of one for each. */
  async prefetch(commits: ReadonlyMap<string, Commit>): Promise<void> {
    for (const [id, commit] of commits) if (!this.#pack.commits.has(id)) this.#commits.set(id, commit);
    const parents = new Set([...commits.values()].flatMap((commit) => commit.parents));
    await this.#fetchCommits([...parents].filter((id) => this.#known(id) === undefined));
    const tops = new Set([...commits.keys(), ...parents].map((id) => this.#known(id)!.tree));
    tops.delete(EMPTY_TREE_ID);
    await this.#fetchTrees([...tops].filter((id) => this.#pack.get(id) === null && !this.#trees.has(id)));
  }

  async commit(oid: string): Promise<Commit> {
    if (this.#known(oid) === undefined) await this.#fetchCommits([oid]);
    return this.#known(oid)!;
  }

  #known(oid: string): Commit | undefined {
    return this.#pack.commits.get(oid) ?? this.#commits.get(oid);
  }

  async tree(oid: string): Promise<TreeEntries> {
    const known = this.#trees.get(oid);
    if (known !== undefined) return known;
    const packed = this.#pack.get(oid);
    if (packed !== null) return treeOf(packed.type, await packed.content());
    if (++this.#singleTrees > maxSingleTrees) throw tooManyTrees();
    await this.#fetchTrees([oid]);
    return this.#trees.get(oid)!;
  }

  async #fetchCommits(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    for (const [id, { type, content }] of await this.#server.objects(ids)) {
      if (type !== 'commit') throw new GitWireError('malformed', 'a commit of the push has a parent that is no commit');
      this.#commits.set(id, parseCommit(content));
    }
  }

  async #fetchTrees(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    this.#serverTrees += ids.length;
    if (this.#serverTrees > maxServerTrees) throw tooManyTrees();
    for (const [id, { type, content }] of await this.#server.objects(ids)) this.#trees.set(id, treeOf(type, content));
  }
}

function tooManyTrees(): GitWireError {
  return new GitWireError('too-large', 'the server would have to be asked for too many directories; push in parts');
}

function treeOf(type: string, content: Buffer): TreeEntries {
  if (type !== 'tree') throw new GitWireError('malformed', 'a directory of the push that is no directory');
  return parseTree(content);
}
