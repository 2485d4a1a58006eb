// What git says about a push: which branches it would rewrite, and which of its new commits change protected paths. Of
// the product only the rules as they are written are known here: none of its code.
import type { GitRepository } from './git-pack-ground.ts';

const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

interface Placed {
  readonly tree: string;
  readonly parents: readonly string[];
}

interface Change {
  readonly commit: string;
  readonly path: string;
  /** The parent whose state it has; null: none's. */
  readonly from: string | null;
}

export interface PushTruthInput {
  readonly moves: readonly { readonly ref: string; readonly oldId: string; readonly newId: string }[];
  readonly newIds: readonly string[];
  /** What the client left out of its pack. */
  readonly leftOut: readonly string[];
  /** What the branches and tags of the server lead to. */
  readonly known: readonly string[];
  /** What its protected branches lead to. */
  readonly trusted: readonly string[];
}

export interface PushTruth {
  readonly rewritten: Set<string>;
  /** `commit path` of every change that refuses the push. */
  readonly changed: Set<string>;
  /** The part of them that no reading of the rules for merges could let pass. */
  readonly introduced: Set<string>;
}

export class GitTruth {
  readonly #repository: GitRepository;
  readonly #commits = new Map<string, Placed>();
  /** Changed paths with both modes, by the two trees. */
  readonly #diffs = new Map<string, Map<string, string[]>>();

  constructor(repository: GitRepository) {
    this.#repository = repository;
    for (const line of repository.lines(['log', '--all', '--format=%H %T %P'])) {
      const [id = '', tree = '', ...parents] = line.trim().split(' ');
      this.#commits.set(id, { tree, parents });
    }
    const pairs = new Set<string>();
    for (const [id, { tree }] of this.#commits)
      for (const before of this.#treesBefore(id)) pairs.add(`${before} ${tree}`);
    let current = new Map<string, string[]>();
    for (const line of repository.lines(
      ['diff-tree', '-r', '--raw', '--no-renames', '--stdin'],
      `${[...pairs].join('\n')}\n`,
    )) {
      if (line.startsWith(':')) {
        const [head = '', path = ''] = line.split('\t');
        current.set(path, head.slice(1).split(' ').slice(0, 2));
      } else {
        current = new Map();
        this.#diffs.set(line.trim(), current);
      }
    }
  }

  async of(input: PushTruthInput): Promise<PushTruth> {
    const rewritten = new Set<string>();
    for (const { ref, oldId, newId } of input.moves) {
      if (!(await this.#repository.says(['merge-base', '--is-ancestor', oldId, newId]))) rewritten.add(ref);
    }
    const fresh = this.#reach(input.newIds, input.known);
    const sent = this.#reach(input.newIds, input.leftOut);
    const protectedHistory = this.#reach(input.trusted, []);
    // Looked at together with what the server reaches already first: only if that is too much is the old part left out.
    const first = this.#refused(new Set([...sent, ...fresh]), protectedHistory);
    const changed = first.length === 0 ? first : this.#refused(fresh, protectedHistory);
    const own = [...fresh].flatMap((id) => this.#changesOf(id)).filter(({ from }) => from === null);
    return { rewritten, changed: new Set(changed.map(said)), introduced: new Set(own.map(said)) };
  }

  #reach(from: readonly string[], not: readonly string[]): Set<string> {
    if (from.length === 0) return new Set();
    const revisions = [...from, ...not.map((id) => `^${id}`)];
    return new Set(this.#repository.lines(['rev-list', '--stdin'], `${revisions.join('\n')}\n`));
  }

  #refused(commits: ReadonlySet<string>, trusted: ReadonlySet<string>): Change[] {
    return [...commits]
      .flatMap((id) => this.#changesOf(id))
      .filter(({ from }) => from === null || !this.#buildsOnTrusted(from, commits, trusted));
  }

  /** All that `from` builds on outside of the push is part of a protected branch, and there is such a part. */
  #buildsOnTrusted(from: string, commits: ReadonlySet<string>, trusted: ReadonlySet<string>): boolean {
    const seen = new Set([from]);
    const outside: string[] = [];
    for (const id of seen) {
      if (!commits.has(id)) outside.push(id);
      else for (const parent of this.#commits.get(id)?.parents ?? []) seen.add(parent);
    }
    return outside.length > 0 && outside.every((id) => trusted.has(id));
  }

  #changesOf(commit: string): Change[] {
    const { tree, parents } = this.#commits.get(commit)!;
    const differences = this.#treesBefore(commit).map((before) => this.#diffs.get(`${before} ${tree}`) ?? new Map());
    const found: Change[] = [];
    for (const path of new Set(differences.flatMap((differs) => [...differs.keys()]))) {
      const isLink = differences.some((differs) =>
        differs.get(path)?.some((mode: string) => /^(?:120|160)000$/.test(mode)),
      );
      if (!isProtected(path) && !(isLink && leadsToProtected(path))) continue;
      found.push({ commit, path, from: parents[differences.findIndex((differs) => !differs.has(path))] ?? null });
    }
    return found;
  }

  #treesBefore(commit: string): string[] {
    const { parents } = this.#commits.get(commit)!;
    return parents.length === 0 ? [emptyTree] : parents.map((parent) => this.#commits.get(parent)!.tree);
  }
}

const said = ({ commit, path }: Change): string => `${commit.slice(0, 12)} ${path}`;

/** `.github/workflows/**`, cases not told apart. */
const isProtected = (path: string): boolean => path.toLowerCase().startsWith('.github/workflows/');
const leadsToProtected = (path: string): boolean => ['.github', '.github/workflows'].includes(path.toLowerCase());
