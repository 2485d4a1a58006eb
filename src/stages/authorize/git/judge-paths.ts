// Whether a push changes protected paths: every new commit against its own parents, not only the tip, because history
// runs workflows too. Trees that the pack does not hold are asked of the server by their ids.

import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { GitWireError } from '../../../protocols/git/git-wire-error.ts';
import { PARENT_BYTES, SEEN_BYTES, STEP_BYTES } from '../../../protocols/git/objects/ancestry.ts';
import { type ChangedPath, changedProtectedPaths } from '../../../protocols/git/objects/changed-paths.ts';
import { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import { isProtectedBranch } from './branch-rules.ts';
import type { GitServer } from './git-server.ts';
import type { PushFinding } from './push-finding.ts';
import type { PushObjects } from './push-objects.ts';
import { type PushedHistory, withoutOldCommits } from './pushed-history.ts';

/** Changes to protected paths that are looked at in one push, those that merges may take over included. */
const maxChanges = 10_000;
/** Questions about where merges take protected paths from, and commits walked over to find out. */
const maxQuestions = 64;
/** One refuses the push; a person reads a few. */
const maxFindings = 1_000;
const maxSteps = 2_000_000;
/** What holding a path against a pattern costs for each of its characters. */
const characterBytes = 12;
const branches = 'refs/heads/';

export async function judgePaths(
  policy: CompiledPolicy,
  objects: PushObjects,
  history: PushedHistory,
  server: GitServer,
  budget = new WorkBudget(),
): Promise<PushFinding[]> {
  await objects.prefetch(history.commits);
  const findings = await judgeCommits(policy, objects, history, server, budget);
  if (findings.length === 0) return findings;
  const fresh = await withoutOldCommits(history, server, budget);
  return fresh.commits.size === history.commits.size ? findings : judgeCommits(policy, objects, fresh, server, budget);
}

async function judgeCommits(
  policy: CompiledPolicy,
  objects: PushObjects,
  history: PushedHistory,
  server: GitServer,
  budget: WorkBudget,
): Promise<PushFinding[]> {
  const patterns = policy.protectedPaths;
  const charge = (path: string): void => budget.spend(path.length * patterns.length * characterBytes);
  const changes = await changedProtectedPaths({
    commits: history.commits.keys(),
    commit: (oid) => objects.commit(oid),
    tree: (oid) => objects.tree(oid),
    matches: (path) => {
      charge(path);
      return isProtectedPath(policy, path);
    },
    couldMatchBelow: (directory) => {
      charge(directory);
      return directory === '' || patterns.some((pattern) => pattern.reaches(`${directory.toLowerCase()}/`));
    },
    limits: { maxFindings: maxChanges },
    budget,
  });
  const trusted = new TrustedParents(policy, history, server, budget);
  const findings: PushFinding[] = [];
  for (const change of changes) {
    if (change.kind === 'taken' && (await trusted.covers(change.from))) continue;
    findings.push(changed(policy, change));
    if (findings.length === maxFindings) break;
  }
  // The search ends there: what comes after was not looked at.
  if (changes.length >= maxChanges && findings.length === 0) {
    throw new GitWireError('too-large', `more than ${maxChanges} changes to protected paths; push in parts`);
  }
  return findings;
}

/** A merge may take protected paths over from a protected branch: what is there was let in by others. */
class TrustedParents {
  readonly #history: PushedHistory;
  readonly #server: GitServer;
  readonly #tips: ReadonlySet<string>;
  readonly #budget: WorkBudget;
  /** By the commit that paths are taken from: many merges take from the same. */
  readonly #covered = new Map<string, boolean>();
  /** By the commits outside of the push that were asked about. */
  readonly #answers = new Map<string, Promise<boolean>>();
  #steps = 0;

  constructor(policy: CompiledPolicy, history: PushedHistory, server: GitServer, budget: WorkBudget) {
    this.#history = history;
    this.#budget = budget;
    this.#server = server;
    this.#tips = new Set(
      [...history.tips]
        .filter(([name]) => name.startsWith(branches) && isProtectedBranch(policy, name.slice(branches.length)))
        .map(([, id]) => id),
    );
  }

  /** Whether all that `from` builds on, outside of this push, is part of a protected branch. */
  async covers(from: string): Promise<boolean> {
    const known = this.#covered.get(from);
    if (known !== undefined) return known;
    const answer = await this.#ask(await this.#leaving(from));
    this.#covered.set(from, answer);
    return answer;
  }

  async #ask(leaving: readonly string[]): Promise<boolean> {
    if (leaving.length === 0 || this.#tips.size === 0) return false;
    const open = leaving.filter((id) => !this.#tips.has(id)).sort();
    if (open.length === 0) return true;
    const key = open.join(' ');
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (this.#answers.size === maxQuestions) throw tooManyMerges();
    const answer = this.#server.commits(open, [...this.#tips]).then((beyond) => beyond.size === 0);
    this.#answers.set(key, answer);
    return answer;
  }

  async #leaving(from: string): Promise<string[]> {
    const { commits } = this.#history;
    const budget = this.#budget.part();
    const seen = new Set([from]);
    const open = [from];
    const leaving: string[] = [];
    try {
      for (let oid = open.pop(); oid !== undefined; oid = open.pop()) {
        if (++this.#steps > maxSteps) throw tooManyMerges();
        const parents = commits.get(oid)?.parents;
        budget.spend(STEP_BYTES + PARENT_BYTES * (parents?.length ?? 0));
        if (budget.isTurnDue) await budget.turn();
        if (parents === undefined) leaving.push(oid);
        for (const parent of parents ?? []) {
          if (seen.has(parent)) continue;
          budget.hold(SEEN_BYTES);
          seen.add(parent);
          open.push(parent);
        }
      }
      return leaving;
    } finally {
      budget.close();
    }
  }
}

function isProtectedPath({ protectedPaths }: CompiledPolicy, path: string): boolean {
  return protectedPaths.some((pattern) => pattern.covers(path.toLowerCase()));
}

function tooManyMerges(): GitWireError {
  return new GitWireError('too-large', 'too many merges that take protected paths over; push in parts');
}

function changed(policy: CompiledPolicy, { commit, path }: ChangedPath): PushFinding {
  const lower = path.toLowerCase();
  const shown = path.length > 500 ? `${path.slice(0, 500)}…` : path;
  const at = policy.protectedPaths.findIndex((pattern) => pattern.covers(lower) || pattern.reaches(`${lower}/`));
  return {
    code: 'push.protected-path',
    ref: null,
    rule: `policy.protected_paths[${at}]`,
    message: `commit ${commit.slice(0, 12)} changes ${shown}, which is protected`,
    reason: 'a commit of this push changes a protected path',
    hint: 'Leave protected paths out of every commit of the push (an interactive rebase takes them out of older ones), or ask a person to make that change.',
  };
}
