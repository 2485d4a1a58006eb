// Whether a push changes protected paths: every new commit against its own parents, not only the tip, because history
// runs workflows too. Trees that the pack does not hold are asked of the server by their ids.
import { type ChangedPath, changedProtectedPaths } from '../../git-wire/changed-paths.ts';
import { GitWireError } from '../../git-wire/git-wire-error.ts';
import { type Commit, parseCommit } from '../../git-wire/object-commit.ts';
import { EMPTY_TREE_ID } from '../../git-wire/object-id.ts';
import { parseTree, type TreeEntries } from '../../git-wire/object-tree.ts';
import type { PackObjects } from '../../git-wire/pack-objects.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { isProtectedBranch } from './branch-rules.ts';
import type { GitServer } from './git-server.ts';
import type { PushFinding } from './push-finding.ts';
import { type PushedHistory, withoutOldCommits } from './pushed-history.ts';

/** Trees of the server that one push may need, and how many of them one by one: more is not a push a person made. */
const maxServerTrees = 5_000;
const maxSingleTrees = 256;

export async function judgePaths(
  policy: CompiledPolicy,
  objects: PackObjects,
  history: PushedHistory,
  server: GitServer,
): Promise<PushFinding[]> {
  const findings = await judgeCommits(policy, objects, history, server);
  if (findings.length === 0) return findings;
  const fresh = await withoutOldCommits(history, server);
  return fresh.commits.size === history.commits.size ? findings : judgeCommits(policy, objects, fresh, server);
}

async function judgeCommits(
  policy: CompiledPolicy,
  objects: PackObjects,
  history: PushedHistory,
  server: GitServer,
): Promise<PushFinding[]> {
  const patterns = policy.protectedPaths;
  if (history.commits.size === 0) return [];
  const source = new ObjectSource(objects, history, server);
  await source.prefetch();
  const changes = await changedProtectedPaths({
    commits: history.commits.keys(),
    commit: (oid) => source.commit(oid),
    tree: (oid) => source.tree(oid),
    matches: (path) => patterns.some((pattern) => pattern.covers(path.toLowerCase())),
    couldMatchBelow: (directory) =>
      directory === '' || patterns.some((pattern) => pattern.reaches(`${directory.toLowerCase()}/`)),
  });
  const trusted = new TrustedParents(policy, history, server);
  const findings: PushFinding[] = [];
  for (const change of changes) {
    if (change.kind === 'taken' && (await trusted.covers(change.from))) continue;
    findings.push(changed(policy, change));
  }
  return findings;
}

/** Commits and trees: from the pack, else from the server, each asked for once. */
class ObjectSource {
  readonly #objects: PackObjects;
  readonly #history: PushedHistory;
  readonly #server: GitServer;
  readonly #commits = new Map<string, Commit>();
  readonly #trees = new Map<string, TreeEntries>();
  #serverTrees = 0;
  #singleTrees = 0;

  constructor(objects: PackObjects, history: PushedHistory, server: GitServer) {
    this.#objects = objects;
    this.#history = history;
    this.#server = server;
  }

  /** The parents that are on the server, and the top directories, in two questions instead of one for each. */
  async prefetch(): Promise<void> {
    const { commits } = this.#history;
    const parents = new Set([...commits.values()].flatMap((commit) => commit.parents));
    await this.#fetchCommits([...parents].filter((id) => this.#known(id) === undefined));
    const tops = new Set([...commits.keys(), ...parents].map((id) => this.#known(id)!.tree));
    tops.delete(EMPTY_TREE_ID);
    await this.#fetchTrees([...tops].filter((id) => this.#objects.get(id) === null));
  }

  async commit(oid: string): Promise<Commit> {
    if (this.#known(oid) === undefined) await this.#fetchCommits([oid]);
    return this.#known(oid)!;
  }

  #known(oid: string): Commit | undefined {
    return this.#history.commits.get(oid) ?? this.#objects.commits.get(oid) ?? this.#commits.get(oid);
  }

  async tree(oid: string): Promise<TreeEntries> {
    const known = this.#trees.get(oid);
    if (known !== undefined) return known;
    const packed = this.#objects.get(oid);
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

/** A merge may take protected paths over from a protected branch: what is there was let in by others. */
class TrustedParents {
  readonly #history: PushedHistory;
  readonly #server: GitServer;
  readonly #tips: readonly string[];
  readonly #answers = new Map<string, Promise<boolean>>();

  constructor(policy: CompiledPolicy, history: PushedHistory, server: GitServer) {
    this.#history = history;
    this.#server = server;
    this.#tips = [...history.tips]
      .filter(([name]) => name.startsWith('refs/heads/') && isProtectedBranch(policy, name.slice('refs/heads/'.length)))
      .map(([, id]) => id);
  }

  /** Whether all that `from` builds on, outside of this push, is part of a protected branch. */
  covers(from: string): Promise<boolean> {
    const known = this.#answers.get(from);
    if (known !== undefined) return known;
    const answer = this.#ask(this.#leaving(from));
    this.#answers.set(from, answer);
    return answer;
  }

  async #ask(ids: readonly string[]): Promise<boolean> {
    const open = ids.filter((id) => !this.#tips.includes(id));
    if (open.length === 0) return ids.length > 0;
    if (this.#tips.length === 0) return false;
    return (await this.#server.commits(open, this.#tips)).size === 0;
  }

  #leaving(from: string): string[] {
    const { commits } = this.#history;
    const seen = new Set([from]);
    const open = [from];
    const leaving: string[] = [];
    for (let oid = open.pop(); oid !== undefined; oid = open.pop()) {
      const commit = commits.get(oid);
      if (commit === undefined) leaving.push(oid);
      for (const parent of commit?.parents ?? []) {
        if (seen.has(parent)) continue;
        seen.add(parent);
        open.push(parent);
      }
    }
    return leaving;
  }
}

function changed(policy: CompiledPolicy, { commit, path }: ChangedPath): PushFinding {
  const lower = path.toLowerCase();
  const at = policy.protectedPaths.findIndex((pattern) => pattern.covers(lower) || pattern.reaches(`${lower}/`));
  return {
    code: 'push.protected-path',
    ref: null,
    rule: `policy.protected_paths[${at}]`,
    message: `commit ${commit.slice(0, 12)} changes ${path}, which is protected`,
    reason: 'a commit of this push changes a protected path',
    hint: 'Leave protected paths out of every commit of the push (an interactive rebase takes them out of older ones), or ask a person to make that change.',
  };
}
