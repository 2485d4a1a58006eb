// The commits that a push brings, and where they touch what the server already has. What counts as already there is
// what the server's own branches and tags reach: an object store shared with forks holds commits of strangers too, and
// so do refs/pull. // Guards: threats.md T22

import type { RemoteRef } from '../../../protocols/git/fetch-v2.ts';
import { PARENT_BYTES, STEP_BYTES } from '../../../protocols/git/objects/ancestry.ts';
import type { Commit } from '../../../protocols/git/objects/object-commit.ts';
import { ID_BYTES } from '../../../protocols/git/objects/object-id.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { OverBudget, WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import { isDeletion, type PushCommand } from '../../../protocols/git/push-command.ts';
import type { GitServer } from './git-server.ts';

export interface PushedHistory {
  /** Every commit that is new to the server's branches and tags, from the pack or not. */
  readonly commits: ReadonlyMap<string, Commit>;
  /** What the asked-for refs of the server lead to, by name. */
  readonly tips: ReadonlyMap<string, string>;
}

/** Commits of one pack that are looked for on the server: more of old history is not sent along by a client. */
const maxLookedFor = 50_000;
/** With more refs than this on the server, those that were not asked for by name are not counted as known. */
const maxKnownRefs = 20_000;
/** Commits outside of the pack that it leads to: each is a line of a question. */
const maxOutside = 20_000;
/** What a commit takes in a list of them, and one of the server with its ids. */
const listedBytes = 100;
const servedBytes = 400;

export async function findNewCommits(
  commands: readonly PushCommand[],
  objects: PackObjects,
  refs: readonly RemoteRef[],
  server: GitServer,
  budget = new WorkBudget(),
): Promise<PushedHistory> {
  const tips = tipsOf(refs);
  const known = new Set(tips.values());
  const unknown = (await boundaryOf(commands, objects, budget)).filter((id) => !known.has(id));
  const stray = await notReached(server, unknown, known);
  budget.hold(objects.commits.size * listedBytes);
  for (const { parents } of stray.values()) {
    await pass(parents.length, budget);
    budget.hold(servedBytes + ID_BYTES * parents.length);
  }
  return { commits: new Map([...objects.commits, ...stray]), tips };
}

/**
 * The same without those commits of the pack that the server's branches and tags reach already. A client that has not
 * fetched for a while sends such commits along; they were let in by others.
 */
export async function withoutOldCommits(
  { commits, tips }: PushedHistory,
  server: GitServer,
  budget = new WorkBudget(),
): Promise<PushedHistory> {
  const all = await ownTips(server);
  const [tip] = all;
  if (tip === undefined || commits.size > maxLookedFor) return { commits, tips };
  const there = await server.known(tip, [...commits.keys()]);
  budget.hold((commits.size + there.size) * listedBytes);
  const left = new Map([...commits].filter(([id]) => !there.has(id)));
  const last = await newest(commits, there, budget);
  for (const [id, commit] of await notReached(server, last, all)) left.set(id, commit);
  return { commits: left, tips };
}

/** Of commits that the server has: those, and what they build on, that none of its branches and tags reaches. */
async function notReached(
  server: GitServer,
  ids: readonly string[],
  likely: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Commit>> {
  const first = ids.filter((id) => !likely.has(id));
  if (first.length === 0) return new Map();
  const found = await server.commits(first, [...likely].slice(0, maxKnownRefs));
  if (found.size === 0) return found;
  // Perhaps another branch has them: only now is the whole list worth asking for.
  const all = await ownTips(server);
  const left = first.filter((id) => !all.has(id));
  return left.length === 0 ? new Map() : server.commits(left, [...new Set([...likely, ...all])].slice(0, maxKnownRefs));
}

/** The commits among `ids` that no other of them builds on: what holds for these holds for the rest. */
async function newest(
  commits: ReadonlyMap<string, Commit>,
  ids: ReadonlySet<string>,
  budget: WorkBudget,
): Promise<string[]> {
  const last = new Set(ids);
  for (const id of ids) {
    const parents = commits.get(id)?.parents ?? [];
    await pass(parents.length, budget);
    for (const parent of parents) last.delete(parent);
  }
  return [...last];
}

/** What one commit with this many parents costs. */
async function pass(parents: number, budget: WorkBudget): Promise<void> {
  budget.spend(STEP_BYTES + PARENT_BYTES * parents);
  if (budget.isTurnDue) await budget.turn();
}

async function ownTips(server: GitServer): Promise<Set<string>> {
  return new Set(tipsOf(await server.refs(['refs/heads/', 'refs/tags/'])).values());
}

/** What the pack leads to without holding it: parents of its commits, targets of its tags, and tips outside of it. */
async function boundaryOf(
  commands: readonly PushCommand[],
  objects: PackObjects,
  budget: WorkBudget,
): Promise<string[]> {
  const outside = new Set<string>();
  const add = (id: string): void => {
    if (objects.get(id) === null) outside.add(id);
    if (outside.size > maxOutside) {
      throw new OverBudget(`the push leads to more than ${maxOutside} commits that it does not bring`);
    }
  };
  for (const command of commands) if (!isDeletion(command)) add(command.newId);
  for (const { parents } of objects.commits.values()) {
    await pass(parents.length, budget);
    for (const parent of parents) add(parent);
  }
  for (const { target, targetType } of objects.tags.values()) {
    if (targetType === 'commit' || targetType === 'tag') add(target);
  }
  return [...outside];
}

/** What the server's branches and tags lead to. */
function tipsOf(refs: readonly RemoteRef[]): Map<string, string> {
  const own = refs.filter(({ name }) => name.startsWith('refs/heads/') || name.startsWith('refs/tags/'));
  return new Map(own.map(({ name, id, peeled }) => [name, peeled ?? id]));
}
